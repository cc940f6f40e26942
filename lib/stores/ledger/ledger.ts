import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Part } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** A keyed hash by which an erased subject is known again; `hash` in hex. */
export interface LedgerHash {
  kind: 'email' | 'account' | 'agent'
  hash: string
  keyId: string
}
/** That a unit or skill is about to be erased: what goes, by holder. */
export interface RecordIntent {
  kind: 'intent'
  id: string
  at: string
  scope: { unit: string } | { skill: string }
  plan: Record<string, readonly string[]>
  /** Whether others could have copied it; lines from before this was noted lack it. */
  wasPublic?: boolean
}
/** That a person or agent is about to be erased: all of it but what a legal hold keeps. What goes stands in rows of its own, before or after. */
export interface SubjectIntent {
  kind: 'intent'
  id: string
  at: string
  scope: { subject: { account: string | null; agents: readonly string[] } }
  hashes: readonly LedgerHash[]
  /** The legal holds that keep something of the subject. */
  heldBy: readonly string[]
}
/** That a part of a project is about to be erased, with all that came of it. */
export interface PartIntent {
  kind: 'intent'
  id: string
  at: string
  scope: { part: Part }
  /** The legal holds that keep something of it. */
  heldBy: readonly string[]
}
/** Some of what an intent is about to erase. */
export interface ItemsRow {
  kind: 'items'
  /** Of the intent. */
  id: string
  holder: string
  items: readonly string[]
  /** Ids that nobody may use again, by whether others could have copied what they name. */
  identities?: Record<string, boolean>
}
/** That what was intended up to here is erased; of a subject, how much by holder, in all. */
export interface CommitRow {
  kind: 'commit'
  id: string
  at: string
  erased?: Record<string, number>
}
/** Ids and keyed hashes alone. What a crash made be written twice says the same twice. */
export type LedgerRow =
  | RecordIntent
  | SubjectIntent
  | PartIntent
  | ItemsRow
  | CommitRow
  /** A suppression key, sealed with the installation's secret (base64); once more after a rotation of that. */
  | { kind: 'key'; id: string; at: string; sealed: string }

/** The erasure ledger: outside the database, so that a restored backup cannot forget an erasure. Append-only; a row is on the disk when append returns. */
export interface Ledger {
  /** Throws `unavailable` when the row could not be kept. */
  append(row: LedgerRow): Promise<void>
  /** Every whole row, oldest first; `onDamaged` hears of each line that does not check. */
  read(onDamaged?: (file: string) => void): AsyncIterable<LedgerRow>
  /** Removes the files of months that ended before `time`; returns how many. */
  prune(time: Date): Promise<number>
  close(): Promise<void>
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** Line form: a checksum of the row, a space, the row. A line that a crash or a full disk cut short does not check, and is left out. */
const lineOf = (row: LedgerRow): string => {
  const text = JSON.stringify(row)
  return `${digest(text)} ${text}\n`
}
function rowOf(line: string): LedgerRow | undefined {
  const text = line.slice(17)
  return line.length > 17 && line.slice(0, 16) === digest(text) ? (JSON.parse(text) as LedgerRow) : undefined
}

const folderOf = (location: string): string => (location.startsWith('file:') ? fileURLToPath(location) : location)

/** Lines that are written at once, in characters: each write is one call to the system, which other processes' writes do not come between. */
const mostAtOnce = 256 * 1024

/** The lines, in pieces for one write each. Somebody's crash, or a disk that was full, may have left half a line: ours start on a new one. */
function* writes(lines: readonly string[]): Iterable<Buffer> {
  let text = '\n'
  for (const line of lines) {
    if (text.length > 1 && text.length + line.length > mostAtOnce) {
      yield Buffer.from(text)
      text = '\n'
    }
    text += line
  }
  yield Buffer.from(text)
}

/** Files `<year>-<month>.ledger` in a folder (mode 700). Several processes may append: a row lies within one write at the file's end. */
export function fileLedger(location: string): Ledger {
  const folder = folderOf(location)
  let handle: { month: string; file: Awaited<ReturnType<typeof open>> } | undefined
  let waiting: { text: string; done: () => void; failed: (error: unknown) => void }[] = []
  let writing: Promise<void> | undefined

  async function fileOf(month: string) {
    if (handle?.month === month) return handle.file
    await handle?.file.close()
    handle = undefined
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = await open(join(folder, `${month}.ledger`), 'a', 0o600)
    const parent = await open(folder, 'r')
    await parent.sync()
    await parent.close()
    handle = { month, file }
    return file
  }

  /** A folder that is not there is an empty ledger; one that cannot be read is not. */
  async function monthly(): Promise<string[]> {
    const files = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    return files.filter((file) => file.endsWith('.ledger')).sort()
  }

  /** Rows that arrive while others are on their way to the disk share the next write and its fsync. */
  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        const file = await fileOf(new Date().toISOString().slice(0, 7))
        for (const bytes of writes(group.map(({ text }) => text))) {
          const { bytesWritten } = await file.write(bytes)
          if (bytesWritten < bytes.length) throw new Error(`${bytesWritten} of ${bytes.length} bytes were written`)
        }
        await file.datasync()
        for (const { done } of group) done()
      } catch (error) {
        await handle?.file.close().catch(() => {})
        handle = undefined
        const problem = new Problem('unavailable', {
          detail: 'The erasure ledger cannot be written now; no erasure begins or ends without it.',
          headers: { 'Retry-After': '60' },
          cause: error,
        })
        for (const { failed } of group) failed(problem)
      }
    }
    writing = undefined
  }

  return {
    append: (row) =>
      new Promise<void>((done, failed) => {
        waiting.push({ text: lineOf(row), done, failed })
        writing ??= write()
      }),
    async *read(onDamaged) {
      for (const name of await monthly()) {
        // Line by line: a month may be longer than a string can be.
        const file = await open(join(folder, name), 'r')
        for await (const line of file.readLines()) {
          if (line === '') continue
          const row = rowOf(line)
          if (row) yield row
          else onDamaged?.(name)
        }
      }
    },
    async prune(time) {
      const month = time.toISOString().slice(0, 7)
      const old = (await monthly()).filter((name) => name < `${month}.ledger`)
      for (const name of old) await rm(join(folder, name))
      return old.length
    },
    async close() {
      await writing
      await handle?.file.close()
      handle = undefined
    },
  }
}
