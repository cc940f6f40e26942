import type { IncomingMessage, ServerResponse } from 'node:http'
import { Problem } from '#lib/kernel/problem.ts'

/** The time limit in milliseconds for the whole body of a regular request, and for each pause of an upload or download. */
export const patience = 60_000

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const slow = (seconds: number) =>
  new Problem('bad_request', {
    detail: `No data arrived for ${seconds} seconds, so the server closed the request. Send it again.`,
    headers: { Connection: 'close' },
  })

/**
 * The body as it arrives. A streamed body may take any time in total, but must not pause longer than `most` while its reader waits; the
 * reader's own time does not count. @throws `bad_request`
 */
export async function* arriving(request: IncomingMessage, most = patience): AsyncGenerator<Uint8Array> {
  // The connection stays open when reading stops, so that a response can be sent.
  const pieces = request.iterator({ destroyOnReturn: false })
  let timer: NodeJS.Timeout | undefined
  try {
    for (;;) {
      const stalled = new Promise<never>((_, tooSlow) => {
        timer = setTimeout(() => tooSlow(slow(most / 1000)), most)
      })
      const { done, value } = await Promise.race([pieces.next(), stalled])
      clearTimeout(timer)
      if (done) return
      yield value
    }
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Closes a connection whose body never arrives completely: at the time limit after the request began or, for a slow upload, after its
 * response.
 */
export function boundBody(
  request: IncomingMessage,
  response: ServerResponse,
  isUpload: boolean,
  most = patience,
): void {
  if (!hasBody(request)) return
  let timer: NodeJS.Timeout | undefined
  const arm = () => {
    timer = setTimeout(() => request.socket.destroy(), most)
  }
  if (isUpload) response.once('finish', () => request.complete || arm())
  else arm()
  const disarm = () => clearTimeout(timer)
  request.once('end', disarm).once('close', disarm)
}
