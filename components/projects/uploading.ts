import { type ProblemDocument, RequestRefused } from '#lib/client/request.ts'

export interface UploadWatch {
  /** So many bytes have left this browser. */
  sent: (bytes: number) => void
  signal: AbortSignal
}
const isProblem = (value: unknown): value is ProblemDocument =>
  typeof value === 'object' && value !== null && 'code' in value && 'title' in value && 'status' in value

function problemIn({ responseText, status }: XMLHttpRequest): ProblemDocument {
  try {
    const parsed: unknown = JSON.parse(responseText)
    if (isProblem(parsed)) return parsed
  } catch {
    // a proxy's page, or nothing
  }
  return { title: `HTTP ${status}`, status, code: 'unknown' }
}

/**
 * Sends a file as the body of a POST and tells how much of it is sent, which `fetch` cannot. Throws {@link RequestRefused} for what is
 * refused and when no answer comes, and the signal's reason when it is stopped.
 */
export function upload(address: string, file: Blob, mediaType: string, key: string, watch: UploadWatch): Promise<void> {
  return new Promise((resolve, reject) => {
    const asking = new XMLHttpRequest()
    asking.open('POST', address)
    asking.setRequestHeader('Accept', 'application/json')
    asking.setRequestHeader('Content-Type', mediaType)
    asking.setRequestHeader('Idempotency-Key', key)
    const stop = () => asking.abort()
    watch.signal.addEventListener('abort', stop, { once: true })
    asking.upload.onprogress = ({ loaded }) => watch.sent(loaded)
    asking.onload = () =>
      asking.status >= 200 && asking.status < 300 ? resolve() : reject(new RequestRefused(problemIn(asking)))
    asking.onerror = () => reject(new RequestRefused({ title: 'No answer', status: 0, code: 'unreachable' }))
    asking.onabort = () => reject(watch.signal.reason)
    asking.onloadend = () => watch.signal.removeEventListener('abort', stop)
    asking.send(file)
  })
}

const byEnding: Record<string, string> = {
  csv: 'text/csv',
  htm: 'text/html',
  html: 'text/html',
  json: 'application/json',
  log: 'text/plain',
  md: 'text/markdown',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
}
const anything = 'application/octet-stream'
/** What a file is sent as: what the browser says, or its ending, where the server takes that; else bytes. */
export function mediaTypeOf({ name, type }: { name: string; type: string }, taken: readonly string[]): string {
  const said = type.split(';')[0]?.trim().toLowerCase() ?? ''
  if (taken.includes(said)) return said
  const ending = byEnding[name.slice(name.lastIndexOf('.') + 1).toLowerCase()]
  return ending !== undefined && taken.includes(ending) ? ending : anything
}
