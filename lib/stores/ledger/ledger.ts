import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Env } from '#lib/env.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import type { Part } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { isKeyFile, monthKeys } from './month-keys.ts'

/** A keyed hash by which an erased subject is known again; `hash` in hex. */
export interface LedgerHash {
  kind: 'email' | 'account' | 'agent' | 'participant'
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
  /** `participants` is missing where the subject has none. */
  scope: { subject: { account: string | null; agents: readonly string[]; participants?: readonly string[] } }
  hashes: readonly LedgerHash[]
  /** The legal holds that keep something of the subject. */
  heldBy: readonly string[]
  /** The projects that they wrote in; lines from before this was noted lack it. */
  projects?: readonly string[]
  /** Names of whom it erases are taken out of what others wrote, too. */
  redacts?: boolean
}
/** That a part of a project is about to be erased, with all that came of it. */
export interface PartIntent {
  kind: 'intent'
  id: string
  at: string
  scope: { part: Part }
  /** The legal holds that keep something of it. */
  heldBy: readonly string[]
  /** Names of whom it erases are taken out of what others wrote, too. */
  redacts?: boolean
}
/**
 * Some of what an intent is about to erase. Clients choose some of these names (keys, threads), so that they lie sealed, and are forgotten
 * before the ledger is: `items` is empty then.
 */
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
/** Ids and keyed hashes alone, but for items. What a crash made be written twice says the same twice. */
export type LedgerRow =
  | RecordIntent
  | SubjectIntent
  | PartIntent
  | ItemsRow
  | CommitRow
  /** A suppression key, sealed with the installation's secret (base64); once more after a rotation of that. */
  | { kind: 'key'; id: string; at: string; sealed: string }

/** How far a reader got. Starts empty. */
export interface LedgerPosition {
  file: string
  /** Bytes of complete lines. */
  offset: number
}
export const ledgerStart = (): LedgerPosition => ({ file: '', offset: 0 })

/** The erasure ledger: outside the database, so that a restored backup cannot forget an erasure. Append-only; a row is on the disk when append returns. */
export interface Ledger {
  /** Throws `unavailable` when the row could not be kept. */
  append(row: LedgerRow): Promise<void>
  /** Every whole row, oldest first; `onDamaged` hears of each line that does not check. */
  read(onDamaged?: (file: string) => void): AsyncIterable<LedgerRow>
  /**
   * Intents and commits after `position`, oldest first, without items and keys; moves `position` behind them. Reads everything anew when the
   * files are not those that were read before.
   */
  readSince(position: LedgerPosition): AsyncIterable<RecordIntent | SubjectIntent | PartIntent | CommitRow>
  /** Destroys the keys of months that ended before `time`: items that were noted in them cannot be read any more, by nobody. Returns how many. */
  forgetItems(time: Date): Promise<number>
  /** Removes the files of months that ended before `time`, and their keys; returns how many files. */
  prune(time: Date): Promise<number>
  close(): Promise<void>
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** Items as they lie in the file; `month` names the key. Rows from before they were sealed have them as they are. */
interface SealedItems extends Omit<ItemsRow, 'items'> {
  month: string
  sealed: string
}
type KeptRow = LedgerRow | SealedItems
const aboutOf = ({ id, holder }: Pick<ItemsRow, 'id' | 'holder'>): string => `${id} ${holder}`
const Items = z.array(z.string())

/** Line form: a checksum of the row, a space, the row. A line that a crash or a full disk cut short does not check, and is left out. */
const lineOf = (row: KeptRow): string => {
  const text = JSON.stringify(row)
  return `${digest(text)} ${text}\n`
}
function rowOf(line: string): KeptRow | undefined {
  const text = line.slice(17)
  return line.length > 17 && line.slice(0, 16) === digest(text) ? (JSON.parse(text) as KeptRow) : undefined
}
const monthOf = (time: Date): string => time.toISOString().slice(0, 7)

const unwritten = (cause: unknown): Problem =>
  new Problem('unavailable', {
    detail: 'The erasure ledger cannot be written now; no erasure begins or ends without it.',
    headers: { 'Retry-After': '60' },
    cause,
  })
const refused = (error: unknown): never => {
  throw unwritten(error)
}
/** What its key does not open was sealed with another, or changed; a key that cannot be read is no such thing. */
const unopened = (error: unknown): undefined => {
  if (error instanceof Error && 'syscall' in error) throw error
  return undefined
}
const folderOf = (location: string): string =>
  location.startsWith('file:') ? fileURLToPath(location) : resolve(location)
/** Where the settings say that the ledger lies. */
export const ledgerFolder = ({
  KP_LEDGER_URL: place,
  KP_DATA_DIR,
}: Pick<Env, 'KP_LEDGER_URL' | 'KP_DATA_DIR'>): string => folderOf(place ?? join(KP_DATA_DIR, 'erasures'))
const isMonth = (name: string): boolean => name.endsWith('.ledger')
/** The names in a folder. One that is not there has none; one that cannot be read throws. */
const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })
/** Whether no ledger was begun in a folder. */
export const hasNoRow = async (folder: string): Promise<boolean> => !(await namesIn(folder)).some(isMonth)

/** The same ledger, which says that it is used, and whether something is put there, before anything is asked of it. */
export const noted = (ledger: Ledger, used: (isPut: boolean) => Promise<void>): Ledger => ({
  async append(row) {
    await used(true)
    await ledger.append(row)
  },
  async *read(onDamaged) {
    await used(false)
    yield* ledger.read(onDamaged)
  },
  async *readSince(position) {
    await used(false)
    yield* ledger.readSince(position)
  },
  async forgetItems(time) {
    await used(false)
    return ledger.forgetItems(time)
  },
  async prune(time) {
    await used(false)
    return ledger.prune(time)
  },
  close: () => ledger.close(),
})

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

const newline = 0x0a
/** Lines from `offset` on that end with a line feed, with the offset behind each. */
async function* completeLines(file: FileHandle, offset: number): AsyncIterable<{ line: string; end: number }> {
  let pending: Buffer[] = []
  let end = offset
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(mostAtOnce), 0, mostAtOnce, end)
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

/** Files `<year>-<month>.ledger` in a folder (mode 700). Several processes may append: a row lies within one write at the file's end. */
export function fileLedger(location: string): Ledger {
  const folder = folderOf(location)
  const keys = monthKeys(folder)
  let handle: { month: string; file: FileHandle } | undefined
  let waiting: { text: string; done: () => void; failed: (error: unknown) => void }[] = []
  let writing: Promise<void> | undefined

  /** Whether it is what lies there now: the folder may have been moved, and another put in its place. */
  async function isAt(path: string, file: FileHandle): Promise<boolean> {
    const there = await stat(path).catch(() => undefined)
    const { dev, ino } = await file.stat()
    return there?.dev === dev && there.ino === ino
  }
  async function fileOf(month: string) {
    const path = join(folder, `${month}.ledger`)
    if (handle?.month === month && (await isAt(path, handle.file))) return handle.file
    await handle?.file.close()
    handle = undefined
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = await open(path, 'a', 0o600)
    const parent = await open(folder, 'r')
    await parent.sync()
    await parent.close()
    handle = { month, file }
    return file
  }

  const monthly = async (): Promise<string[]> => (await namesIn(folder)).filter(isMonth).sort()

  async function sealedRow({ items, ...row }: ItemsRow): Promise<SealedItems> {
    const month = monthOf(new Date())
    return { ...row, month, sealed: await keys.sealed(month, aboutOf(row), JSON.stringify(items)) }
  }
  async function openedRow({ month, sealed, ...row }: SealedItems): Promise<ItemsRow> {
    const text = await keys.opened(month, aboutOf(row), sealed)
    return { ...row, items: text === undefined ? [] : Items.parse(JSON.parse(text)) }
  }
  const queued = (text: string): Promise<void> =>
    new Promise((done, failed) => {
      waiting.push({ text, done, failed })
      writing ??= write()
    })

  async function forgetItems(time: Date): Promise<number> {
    const months = (await namesIn(folder)).filter(isKeyFile).map((name) => name.slice(0, 7))
    const old = months.filter((month) => month < monthOf(time))
    for (const month of old) await keys.destroy(month)
    return old.length
  }

  /** Rows that arrive while others are on their way to the disk share the next write and its fsync. */
  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        const file = await fileOf(monthOf(new Date()))
        for (const bytes of writes(group.map(({ text }) => text))) {
          const { bytesWritten } = await file.write(bytes)
          if (bytesWritten < bytes.length) throw new Error(`${bytesWritten} of ${bytes.length} bytes were written`)
        }
        await file.datasync()
        for (const { done } of group) done()
      } catch (error) {
        await handle?.file.close().catch(() => {})
        handle = undefined
        const problem = unwritten(error)
        for (const { failed } of group) failed(problem)
      }
    }
    writing = undefined
  }

  return {
    async append(row) {
      const kept = row.kind === 'items' ? await sealedRow(row).catch(refused) : row
      await queued(lineOf(kept))
    },
    async *read(onDamaged) {
      for (const name of await monthly()) {
        // Line by line: a month may be longer than a string can be.
        const file = await open(join(folder, name), 'r')
        for await (const line of file.readLines()) {
          if (line === '') continue
          const row = rowOf(line)
          if (!row) onDamaged?.(name)
          else if (!('sealed' in row) || row.kind === 'key') yield row
          else {
            const opened = await openedRow(row).catch(unopened)
            if (opened) yield opened
            else onDamaged?.(name)
          }
        }
      }
    },
    async *readSince(position) {
      const names = await monthly()
      const size = (name: string) => stat(join(folder, name)).then((found) => found.size)
      const isKnown = names.includes(position.file) && (await size(position.file)) >= position.offset
      if (!isKnown) Object.assign(position, ledgerStart())
      for (const name of names) {
        if (name < position.file) continue
        if (name > position.file) Object.assign(position, { file: name, offset: 0 })
        const file = await open(join(folder, name), 'r')
        try {
          for await (const { line, end } of completeLines(file, position.offset)) {
            position.offset = end
            // Rows of items are most of the ledger, and may be long.
            if (line.startsWith('{"kind":"items"', 17)) continue
            const row = line === '' ? undefined : rowOf(line)
            if (row?.kind === 'intent' || row?.kind === 'commit') yield row
          }
        } finally {
          await file.close()
        }
      }
    },
    forgetItems,
    async prune(time) {
      const old = (await monthly()).filter((name) => name < `${monthOf(time)}.ledger`)
      for (const name of old) await rm(join(folder, name))
      await forgetItems(time)
      return old.length
    },
    async close() {
      await writing
      await handle?.file.close()
      handle = undefined
    },
  }
}
