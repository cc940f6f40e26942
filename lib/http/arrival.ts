import type { IncomingMessage, ServerResponse } from 'node:http'
import { Problem } from '#lib/kernel/problem.ts'

/** Milliseconds that a body of a known form may take in all, and that an upload or a download may stand still. */
export const patience = 60_000

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const slow = (seconds: number) =>
  new Problem('bad_request', {
    detail: `The body stood still for ${seconds} seconds, so nobody waits for the rest of it.`,
    headers: { Connection: 'close' },
  })

/**
 * The body as it arrives. One that is read piece by piece may take as long as it likes and must not stand still while its reader waits;
 * the time that the reader takes itself is not counted. Throws `bad_request`.
 */
export async function* arriving(request: IncomingMessage, most = patience): AsyncGenerator<Uint8Array> {
  // Who stops reading still wants to answer: the connection stays.
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
 * Ends a connection whose body never comes whole: so long after the request began, or, where the body is an upload that takes its time,
 * after its answer.
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
