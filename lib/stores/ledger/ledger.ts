import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { ProjectPart, RecordScope } from '#lib/kernel/erasure-scope.ts'
import { memoize } from '#lib/kernel/memoize.ts'
import { changeHead, type LedgerKey, ledgerKeyOf } from './ledger-head.ts'
import { type LedgerMark, readMark } from './ledger-mark.ts'
import { folderOf } from './ledger-place.ts'
import { type LedgerProblem, LedgerScan, ledgerFiles, namesIn } from './ledger-scan.ts'
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
/** A privacy request is open, until a later row says that it is closed. `due`: the legal deadline. */
export interface PrivacyRequestRow {
  kind: 'request'
  id: string
  at: string
  due: string
  isClosed?: boolean
}
/** Contains only ids and keyed hashes, except in items. A row that a crash caused to be written twice is identical both times. */
export type LedgerRow =
  | RecordIntent
  | SubjectIntent
  | PartIntent
  | ItemsRow
  | CommitRow
  | PrivacyRequestRow
  /** A suppression key, sealed with the installation's secret (base64); written again after a rotation of the secret. */
  | { kind: 'key'; id: string; at: string; sealed: string }

/** What {@link Ledger.readSince} returns. */
type FollowedRow = RecordIntent | SubjectIntent | PartIntent | CommitRow | PrivacyRequestRow

/** The position of a reader, initially at the start. Only the ledger reads its content. */
export interface LedgerPosition {
  scan?: LedgerScan
}
export const ledgerStart = (): LedgerPosition => ({})
/** What the rows read so far show about the ledger: refused rows, and rows that were changed or removed. */
export const problemsUpTo = ({ scan }: LedgerPosition): readonly LedgerProblem[] => scan?.problems ?? []

/** What a complete reading of the ledger shows. */
export interface LedgerInspection {
  /** The head's id; undefined if there is no readable head. */
  id: string | undefined
  problems: readonly LedgerProblem[]
  /**
   * `contained`: the ledger is at least as new as the mark. `ahead`: it is an older copy, or its newest rows were removed. `other`: the
   * mark belongs to another ledger. `unreadable`: the mark was made with an unknown secret, or changed. `none`: there is no mark.
   */
  mark: 'contained' | 'ahead' | 'other' | 'unreadable' | 'none'
  /** The newest executed erasure that the mark names. */
  newest: string | null
}

/**
 * The erasure ledger. It is outside the database, so that a restored backup cannot forget an erasure. Append-only; a row is on disk when
 * `append` returns.
 */
export interface Ledger {
  /** @throws `unavailable` if the row could not be stored */
  append(row: LedgerRow): Promise<void>
  /** Every authentic row, oldest first; `onProblem` is called for every refused line and every sign of a change. */
  read(onProblem?: (file: string, kind: LedgerProblem['kind']) => void): AsyncIterable<LedgerRow>
  /**
   * All rows after `position`, oldest first, without items and keys; advances `position`. If the files are not those that were read
   * before, it starts again from the beginning.
   */
  readSince(position: LedgerPosition): AsyncIterable<FollowedRow>
  /** Reads everything, without the items, and compares it with the mark. */
  inspect(): Promise<LedgerInspection>
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
type RetainedRow = LedgerRow | SealedItems
/** The row of an accepted line, without its place in the chain. */
function rowOf(text: string): RetainedRow {
  const { chain: _, mac: __, ...row } = JSON.parse(text) as RetainedRow & { chain?: unknown; mac?: unknown }
  return row as RetainedRow
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
type MonthKeys = ReturnType<typeof monthKeys>

async function sealedRow(keys: MonthKeys, { items, ...row }: ItemsRow): Promise<SealedItems> {
  const month = monthOf(new Date())
  return { ...row, month, sealed: await keys.sealed(month, aboutOf(row), JSON.stringify(items)) }
}

async function openedRow(keys: MonthKeys, { month, sealed, ...row }: SealedItems): Promise<ItemsRow> {
  const text = await keys.opened(month, aboutOf(row), sealed)
  return { ...row, items: text === undefined ? [] : Items.parse(JSON.parse(text)) }
}

async function* readRows(
  scan: LedgerScan,
  keys: MonthKeys,
  onProblem: ((file: string, kind: LedgerProblem['kind']) => void) | undefined,
): AsyncGenerator<LedgerRow> {
  let reported = 0
  const notify = () => {
    for (const { file, kind } of scan.problems.slice(reported)) onProblem?.(file, kind)
    reported = scan.problems.length
  }
  for await (const { file, text } of scan.rows()) {
    const row = rowOf(text)
    if (!('sealed' in row) || row.kind === 'key') yield row
    else {
      const opened = await openedRow(keys, row).catch(unopened)
      if (opened) yield opened
      else onProblem?.(file, 'damaged')
    }
  }
  notify()
}

async function* readSince(scan: LedgerScan): AsyncGenerator<FollowedRow> {
  for await (const { text } of scan.rows()) {
    // Rows of items are most of the ledger, and may be long.
    if (text.startsWith('{"kind":"items"')) continue
    const row = rowOf(text)
    if (row.kind === 'intent' || row.kind === 'commit' || row.kind === 'request') yield row
  }
}

async function inspect(scan: LedgerScan, markPath: string | undefined): Promise<LedgerInspection> {
  // The first reading opens the head, whose keys the mark needs.
  await scan.finish()
  const { head } = scan
  const mark = markPath === undefined || !head ? undefined : await readMark(markPath, head.keys)
  const found = { id: head?.id, problems: scan.problems, newest: null }
  if (mark === undefined) return { ...found, mark: 'none' }
  if (mark === 'unreadable') return { ...found, mark: 'unreadable' }
  return { ...found, newest: mark.newest, mark: await statusOf(mark, scan) }
}

async function statusOf(mark: LedgerMark, scan: LedgerScan): Promise<LedgerInspection['mark']> {
  if (mark.ledger !== scan.head?.id) return 'other'
  if (mark.file === '') return 'contained'
  scan.watchFor(mark)
  await scan.restart()
  return scan.hasMark(mark) ? 'contained' : 'ahead'
}

async function forgetItems(folder: string, keys: MonthKeys, time: Date): Promise<number> {
  const months = (await namesIn(folder)).filter(isKeyFile).map((name) => name.slice(0, 7))
  const old = months.filter((month) => month < monthOf(time))
  for (const month of old) await keys.destroy(month)
  return old.length
}

export interface LedgerOptions {
  /** The installation's secret, from which the key that authenticates the rows is derived. Called at the first use. */
  secret: () => string
  /** The file that records how far the ledger has come; none if undefined. */
  mark?: string | undefined
}

/**
 * Files `<year>-<month>.ledger` in a folder (mode 700), with `ledger.head`. Several processes may append: each row is written in a single
 * write at the end of the file.
 */
export function fileLedger(location: string, { secret, mark }: LedgerOptions): Ledger {
  const folder = folderOf(location)
  const keys = monthKeys(folder)
  const key: () => LedgerKey = memoize(() => ledgerKeyOf(secret()))
  const writer = ledgerWriter(folder, key, mark)
  const newScan = () => new LedgerScan(folder, key)

  return {
    async append(row) {
      await writer.append(row.kind === 'items' ? await sealedRow(keys, row).catch(refused) : row)
    },
    read: (onProblem) => readRows(newScan(), keys, onProblem),
    readSince(position) {
      position.scan ??= newScan()
      return readSince(position.scan)
    },
    inspect: () => inspect(newScan(), mark),
    forgetItems: (time) => forgetItems(folder, keys, time),
    async prune(time) {
      const month = monthOf(time)
      const old = (await ledgerFiles(folder)).filter((name) => name < `${month}.ledger`)
      if (old.length === 0) return 0
      // First the head: files that are missing without its statement were removed by somebody else.
      await changeHead(folder, key(), (head) => ({ ...head, prunedBefore: month }))
      for (const name of old) await rm(join(folder, name))
      await forgetItems(folder, keys, time)
      return old.length
    },
    close: () => writer.close(),
  }
}
