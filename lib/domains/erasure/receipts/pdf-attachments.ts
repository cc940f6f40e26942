import { inflateSync } from 'node:zlib'

/** Maximum size of one attachment in bytes; a receipt is far smaller. */
const largest = 4 * 1024 * 1024

export const isPdf = (file: Uint8Array): boolean =>
  Buffer.from(file.buffer, file.byteOffset, Math.min(file.byteLength, 1024)).includes('%PDF-')

function contentOf(dictionary: string, data: Buffer): string | undefined {
  const filter = /\/Filter\s{0,8}\[?\s{0,8}\/(\w+)/.exec(dictionary)?.[1]
  try {
    if (filter === undefined) return data.toString('utf8')
    // Inflating ignores bytes after the compressed data, such as the line break before `endstream`.
    return filter === 'FlateDecode' ? inflateSync(data, { maxOutputLength: largest }).toString('utf8') : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the texts of the files embedded in a PDF (ISO 32000-1 §7.11.4) that this server wrote: plain or deflated,
 * each in its own object. Returns an empty list when another program saved the PDF and stored the files differently.
 */
export function pdfAttachments(file: Uint8Array): string[] {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
  const text = bytes.toString('latin1')
  const found: string[] = []
  for (const { index } of text.matchAll(/\/Type\s*\/EmbeddedFile(?!s)/g)) {
    const begin = /stream\r?\n/g
    begin.lastIndex = index
    const stream = begin.exec(text)
    if (!stream) continue
    const start = begin.lastIndex
    const dictionary = text.slice(text.lastIndexOf(' obj', index), stream.index)
    const length = /\/Length\s+(\d+)(?!\s+\d+\s+R)/.exec(dictionary)?.[1]
    const end = length === undefined ? text.indexOf('endstream', start) : start + Number(length)
    const content = contentOf(dictionary, bytes.subarray(start, end < 0 ? undefined : end))
    if (content !== undefined) found.push(content)
  }
  return found
}
