import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/**
 * The form of a line: a checksum of the row, a space, the row. A line that a crash or a full disk cut short fails the checksum and is
 * omitted.
 */
export const lineOf = (row: string): string => `${digest(row)} ${row}\n`
/** The row of a line; undefined if its checksum does not match. */
export function rowIn(line: string): string | undefined {
  const row = line.slice(17)
  return line.length > 17 && line.slice(0, 16) === digest(row) ? row : undefined
}

/** Characters per write. Each write is one system call, which writes of other processes cannot interrupt. */
const maxAtOnce = 256 * 1024

/** The lines, grouped for one write each. They begin with a line feed, because a crash or a full disk may have left a partial line. */
export function* writes(lines: readonly string[]): Iterable<Buffer> {
  let text = '\n'
  for (const line of lines) {
    if (text.length > 1 && text.length + line.length > maxAtOnce) {
      yield Buffer.from(text)
      text = '\n'
    }
    text += line
  }
  yield Buffer.from(text)
}

const newline = 0x0a
/** Complete lines from `offset` on, each with the offset after it. */
export async function* completeLines(file: FileHandle, offset: number): AsyncIterable<{ line: string; end: number }> {
  let pending: Buffer[] = []
  let end = offset
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxAtOnce), 0, maxAtOnce, end)
    if (bytesRead === 0) return
    const from = end
    end += bytesRead
    let begin = 0
    for (let at = buffer.indexOf(newline); at >= 0 && at < bytesRead; at = buffer.indexOf(newline, begin)) {
      pending.push(buffer.subarray(begin, at))
      yield { line: Buffer.concat(pending).toString(), end: from + at + 1 }
      pending = []
      begin = at + 1
    }
    pending.push(buffer.subarray(begin, bytesRead))
  }
}
