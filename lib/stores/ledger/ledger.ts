import { open, readdir, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Env } from '#lib/config/env.ts'
import type { ProjectPart, RecordScope } from '#lib/kernel/erasure-scope.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { completeLines, lineOf, rowIn } from './ledger-lines.ts'
import { ledgerWriter, monthOf, unwritten } from './ledger-writer.ts'
import { isKeyFile, monthKeys } from './month-keys.ts'

/** A keyed hash by which an erased subject is recognised; `hash` in hexadecimal. */
export interface LedgerHash {
  kind: 'email' | 'account' | 'agent' | 'member' | 'participant'
  hash: string
  keyId: string
}
/** A unit or skill is about to be erased. `plan`: the items by data source. */
export interface RecordIntent {
  kind: 'intent'
  id: string
  at: string
  scope: RecordScope
  plan: Record<string, readonly string[]>
  /** Whether others could have copied it; missing in older lines. */
  wasPublic?: boolean
}
/**
 * A person or agent is about to be erased, except for what legal holds retain. The items are in separate rows, before or after this one.
 */
export interface SubjectIntent {
  kind: 'intent'
  id: string
  at: string
  /** `participants` is missing if the subject has none. */
  scope: { subject: { account: string | null; agents: readonly string[]; participants?: readonly string[] } }
  hashes: readonly LedgerHash[]
  /** The legal holds that retain data of the subject. */
  heldBy: readonly string[]
  /** The projects that they wrote in; missing in older lines. */
  projects?: readonly string[]
  /** Names of the erased person are also removed from other authors' texts. */
  redacts?: boolean
}
/** A part of a project is about to be erased, with all data derived from it. */
export interface PartIntent {
  kind: 'intent'
  id: string
  at: string
  scope: { part: ProjectPart }
  /** The legal holds that retain part of it. */
  heldBy: readonly string[]
  /** Names of the erased person are also removed from other authors' texts. */
  redacts?: boolean
}
/**
 * Some of the items that an intent is about to erase. Clients choose some of these names (keys, threads), so items are sealed, and their
 * keys are destroyed before the ledger expires; `items` is empty after that.
 */
export interface ItemsRow {
  kind: 'items'
  /** The id of the intent. */
  id: string
  holder: string
  items: readonly string[]
  /** Ids that must never be used again, with whether others could have copied the named content. */
  identities?: Record<string, boolean>
}
/** Everything intended up to here is erased. For a subject: the total by data source. */
export interface CommitRow {
  kind: 'commit'
  id: string
  at: string
  erased?: Record<string, number>
}
/** Contains only ids and keyed hashes, except in items. A row that a crash caused to be written twice is identical both times. */
export type LedgerRow =
  | RecordIntent
  | SubjectIntent
  | PartIntent
  | ItemsRow
  | CommitRow
  /** A suppression key, sealed with the installation's secret (base64); written again after a rotation of the secret. */
  | { kind: 'key'; id: string; at: string; sealed: string }

/** The position of a reader, initially at the start. */
export interface LedgerPosition {
  file: string
  /** Bytes of complete lines. */
  offset: number
}
export const ledgerStart = (): LedgerPosition => ({ file: '', offset: 0 })

/**
 * The erasure ledger. It is outside the database, so that a restored backup cannot forget an erasure. Append-only; a row is on disk when
 * `append` returns.
 */
export interface Ledger {
  /** @throws `unavailable` if the row could not be stored */
  append(row: LedgerRow): Promise<void>
  /** Every valid row, oldest first; `onDamaged` is called for each line whose checksum does not match. */
  read(onDamaged?: (file: string) => void): AsyncIterable<LedgerRow>
  /**
   * Intents and commits after `position`, oldest first, without items and keys; advances `position`. If the files are not those that
   * were read before, it starts again from the beginning.
   */
  readSince(position: LedgerPosition): AsyncIterable<RecordIntent | SubjectIntent | PartIntent | CommitRow>
  /** Destroys the keys of months that ended before `time`, so that nobody can read their items any more. Returns how many. */
  forgetItems(time: Date): Promise<number>
  /** Removes the files of months that ended before `time`, and their keys. Returns how many files. */
  prune(time: Date): Promise<number>
  close(): Promise<void>
}

/** Items as stored in the file; `month` identifies the key. Rows from before sealing was introduced have `items` unsealed. */
interface SealedItems extends Omit<ItemsRow, 'items'> {
  month: string
  sealed: string
}
type KeptRow = LedgerRow | SealedItems
function rowOf(line: string): KeptRow | undefined {
  const row = rowIn(line)
  return row === undefined ? undefined : (JSON.parse(row) as KeptRow)
}
const aboutOf = ({ id, holder }: Pick<ItemsRow, 'id' | 'holder'>): string => `${id} ${holder}`
const Items = z.array(z.string())

const refused = (error: unknown): never => {
  throw unwritten(error)
}
/**
 * Returns undefined for items that the key does not open: they were sealed with another key or changed. A key that cannot be read is a
 * different error and is rethrown.
 */
const unopened = (error: unknown): undefined => {
  if (error instanceof Error && 'syscall' in error) throw error
  return undefined
}
const folderOf = (location: string): string =>
  location.startsWith('file:') ? fileURLToPath(location) : resolve(location)
/** The configured folder of the ledger. */
export const ledgerFolder = ({
  KP_LEDGER_URL: place,
  KP_DATA_DIR,
}: Pick<Env, 'KP_LEDGER_URL' | 'KP_DATA_DIR'>): string => folderOf(place ?? join(KP_DATA_DIR, 'erasures'))
const isMonth = (name: string): boolean => name.endsWith('.ledger')
/** The names in a folder; none if it does not exist. Throws if it cannot be read. */
const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })
/** Whether the folder contains no ledger. */
export const hasNoRow = async (folder: string): Promise<boolean> => !(await namesIn(folder)).some(isMonth)

type MonthKeys = ReturnType<typeof monthKeys>

/** The files of all months, oldest first. */
const ledgerFiles = async (folder: string): Promise<string[]> => (await namesIn(folder)).filter(isMonth).sort()

async function sealedRow(keys: MonthKeys, { items, ...row }: ItemsRow): Promise<SealedItems> {
  const month = monthOf(new Date())
  return { ...row, month, sealed: await keys.sealed(month, aboutOf(row), JSON.stringify(items)) }
}

async function openedRow(keys: MonthKeys, { month, sealed, ...row }: SealedItems): Promise<ItemsRow> {
  const text = await keys.opened(month, aboutOf(row), sealed)
  return { ...row, items: text === undefined ? [] : Items.parse(JSON.parse(text)) }
}

async function* readRows(
  folder: string,
  keys: MonthKeys,
  onDamaged: ((file: string) => void) | undefined,
): AsyncGenerator<LedgerRow> {
  for (const name of await ledgerFiles(folder)) {
    // Line by line: a month may be longer than the maximum string.
    const file = await open(join(folder, name), 'r')
    for await (const line of file.readLines()) {
      if (line === '') continue
      const row = rowOf(line)
      if (!row) onDamaged?.(name)
      else if (!('sealed' in row) || row.kind === 'key') yield row
      else {
        const opened = await openedRow(keys, row).catch(unopened)
        if (opened) yield opened
        else onDamaged?.(name)
      }
    }
  }
}

async function* readSince(
  folder: string,
  position: LedgerPosition,
): AsyncGenerator<RecordIntent | SubjectIntent | PartIntent | CommitRow> {
  const names = await ledgerFiles(folder)
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
}

async function forgetItems(folder: string, keys: MonthKeys, time: Date): Promise<number> {
  const months = (await namesIn(folder)).filter(isKeyFile).map((name) => name.slice(0, 7))
  const old = months.filter((month) => month < monthOf(time))
  for (const month of old) await keys.destroy(month)
  return old.length
}

/**
 * Files `<year>-<month>.ledger` in a folder (mode 700). Several processes may append: each row is written in a single write at the end
 * of the file.
 */
export function fileLedger(location: string): Ledger {
  const folder = folderOf(location)
  const keys = monthKeys(folder)
  const writer = ledgerWriter(folder)

  return {
    async append(row) {
      const kept = row.kind === 'items' ? await sealedRow(keys, row).catch(refused) : row
      await writer.append(lineOf(JSON.stringify(kept)))
    },
    read: (onDamaged) => readRows(folder, keys, onDamaged),
    readSince: (position) => readSince(folder, position),
    forgetItems: (time) => forgetItems(folder, keys, time),
    async prune(time) {
      const old = (await ledgerFiles(folder)).filter((name) => name < `${monthOf(time)}.ledger`)
      for (const name of old) await rm(join(folder, name))
      await forgetItems(folder, keys, time)
      return old.length
    },
    close: () => writer.close(),
  }
}
