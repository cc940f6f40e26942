import { type ProblemDocument, RequestRefused } from '#lib/client/request.ts'

export interface UploadWatch {
  /** Reports the number of bytes sent so far. */
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
    // A page of a proxy, or an empty body.
  }
  return { title: `HTTP ${status}`, status, code: 'unknown' }
}

/**
 * Sends a file as the body of a POST and reports upload progress, which `fetch` cannot do.
 * @throws {@link RequestRefused} when the server refuses or does not answer, or the reason of the signal when it is aborted.
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
/** The media type of an upload: the type from the browser or from the file extension if the server accepts it, otherwise bytes. */
export function mediaTypeOf({ name, type }: { name: string; type: string }, taken: readonly string[]): string {
  const said = type.split(';')[0]?.trim().toLowerCase() ?? ''
  if (taken.includes(said)) return said
  const ending = byEnding[name.slice(name.lastIndexOf('.') + 1).toLowerCase()]
  return ending !== undefined && taken.includes(ending) ? ending : anything
}
