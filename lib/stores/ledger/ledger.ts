import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type FileHandle, link, mkdir, open, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { memoize } from '#lib/kernel/concurrency.ts'
import type { ProjectPart, RecordScope } from '#lib/kernel/erasure-scope.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { changeHead, createHead, type LedgerKey, ledgerKeyOf, openHead } from './ledger-head.ts'
import { type LedgerMark, moveMark, readMark } from './ledger-mark.ts'
import { folderOf } from './ledger-place.ts'
import {
  type Chain,
  type LedgerProblem,
  LedgerScan,
  ledgerFiles,
  lineOf,
  linkedRow,
  namesIn,
  writes,
} from './ledger-scan.ts'

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

const monthOf = (time: Date): string => time.toISOString().slice(0, 7)

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const fileOf = (month: string): string => `${month}.key`
const isKeyFile = (name: string): boolean => /^\d{4}-\d{2}\.key$/.test(name)

/**
 * One key for each month's file, next to it (`2026-11.key`, mode 0600). Deleting the key makes the items of the month unreadable without
 * writing to the file. AES-256-GCM; nonce, ciphertext and tag in one base64 text.
 */
function monthKeys(folder: string) {
  const known = new Map<string, Buffer>()

  async function read(month: string): Promise<Buffer | undefined> {
    const key = await readFile(join(folder, fileOf(month))).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined
      throw error
    })
    if (key && key.length !== keyBytes)
      throw new Error(`The key of ${month} in the ledger's folder is incomplete. Restore it from a backup.`)
    return key
  }
  /** Creates a key that is on disk before it seals anything. If several processes create one concurrently, the first one is used. */
  async function make(month: string): Promise<Buffer> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const draft = join(folder, `${randomBytes(8).toString('hex')}.draft`)
    const file = await open(draft, 'wx', 0o600)
    await file.write(randomBytes(keyBytes))
    await file.datasync()
    await file.close()
    await link(draft, join(folder, fileOf(month))).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error
    })
    await rm(draft)
    const parent = await open(folder, 'r')
    await parent.sync()
    await parent.close()
    const key = await read(month)
    if (!key) throw new Error(`The key of ${month} in the ledger's folder does not exist. Restore it from a backup.`)
    return key
  }

  return {
    /** `about` must be the same when it is opened. */
    async sealed(month: string, about: string, text: string): Promise<string> {
      // Read each time: the folder may have been replaced by another without the cached key.
      const key = (await read(month)) ?? (await make(month))
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about))
      return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64')
    },
    /** Undefined once the key was destroyed. Throws if the key is a different one or the sealed text was changed. */
    async opened(month: string, about: string, sealed: string): Promise<string | undefined> {
      const key = known.get(month) ?? (await read(month))
      if (!key) return undefined
      known.set(month, key)
      const bytes = Buffer.from(sealed, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes))
        .setAAD(Buffer.from(about))
        .setAuthTag(bytes.subarray(-tagBytes))
      return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
    },
    async destroy(month: string): Promise<void> {
      known.delete(month)
      await rm(join(folder, fileOf(month)), { force: true })
    },
  }
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

const unwritten = (cause: unknown): Problem =>
  new Problem('unavailable', {
    detail: 'The erasure ledger cannot be written, so no erasure can begin or end. Try again later.',
    headers: { 'Retry-After': '60' },
    cause,
  })

/** Whether the path still refers to this file: the folder may have been moved and replaced. */
async function isAt(path: string, file: FileHandle): Promise<boolean> {
  const there = await stat(path).catch(() => undefined)
  const { dev, ino } = await file.stat()
  return there?.dev === dev && there.ino === ino
}

/** Creates the head of a new ledger. A folder with rows and without a head of ours is not written to. */
async function requireHead(folder: string, key: LedgerKey): Promise<void> {
  const head = await openHead(folder, key)
  if (head === 'foreign') throw new Error('The erasure ledger was made with another secret, or its head was changed.')
  if (head !== undefined) return
  if ((await ledgerFiles(folder)).length > 0)
    throw new Error('The erasure ledger has rows that are not authenticated. npm start accepts them once.')
  await createHead(folder, key)
}

interface WaitingRow {
  row: { kind: string; id: string }
  done: () => void
  failed: (error: unknown) => void
}

/**
 * Appends rows to the newest file. A row is on disk when `append` resolves. Processes append to the same file without a lock: each writes a
 * group of rows with one call, and each row states how far its process had read the file.
 */
function ledgerWriter(folder: string, keyOf: () => LedgerKey, mark: string | undefined) {
  const writer = randomBytes(6).toString('base64url')
  let sequence = 0
  let handle: { name: string; file: FileHandle } | undefined
  let waiting: WaitingRow[] = []
  let writing: Promise<void> | undefined
  let scan = new LedgerScan(folder, keyOf, true)
  /** The newest executed erasure that this process knows. Undefined: the mark was not read yet. */
  let newest: string | null | undefined

  async function fileToAppend() {
    // Never an older file than the newest: rows of a machine whose clock is behind belong after those that it has read.
    const name = [`${monthOf(new Date())}.ledger`, ...(await ledgerFiles(folder)).slice(-1)].sort().at(-1) ?? ''
    if (handle?.name === name && (await isAt(join(folder, name), handle.file))) return handle
    await handle?.file.close()
    handle = undefined
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await requireHead(folder, keyOf())
    scan = new LedgerScan(folder, keyOf, true)
    await scan.finish()
    const file = await open(join(folder, name), 'a', 0o600)
    const parent = await open(folder, 'r')
    await parent.sync()
    await parent.close()
    handle = { name, file }
    return handle
  }

  function linesOf(rows: readonly WaitingRow[], name: string): string[] {
    const key = keyOf()
    const { head } = scan
    if (!head) throw new Error('The erasure ledger has no readable head.')
    const own = scan.claimOf(name)
    const before = own ? undefined : scan.claimBefore(name)
    return rows.map(({ row }) => {
      const chain: Chain = {
        k: key.id,
        w: writer,
        s: sequence++,
        n: own?.rows ?? 0,
        h: own?.hash ?? scan.hashAtStart(name),
      }
      if (before) chain.p = [before.file, before.rows, before.hash]
      return lineOf(linkedRow(row, chain, name, head.id, key))
    })
  }

  /** Reads what was written since, and moves the mark to it. */
  async function follow(group: readonly WaitingRow[]): Promise<void> {
    await scan.finish()
    if (mark === undefined || !scan.head || !scan.claim) return
    if (newest === undefined) {
      const known = await readMark(mark, scan.head.keys)
      newest = typeof known === 'object' ? known.newest : null
    }
    newest = group.findLast(({ row }) => row.kind === 'commit')?.row.id ?? newest
    await moveMark(mark, { ledger: scan.head.id, ...scan.claim, newest }, keyOf())
  }

  /** Rows that arrive during a write share the next write and its fsync. */
  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        const { name, file } = await fileToAppend()
        for (const bytes of writes(linesOf(group, name))) {
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
        continue
      }
      // The rows are stored. A folder that is away now is found by the next write.
      await follow(group).catch((error: unknown) => logFault(error, { operationId: 'ledgerMark' }))
    }
    writing = undefined
  }

  return {
    /** @throws {Problem} `unavailable` if the row could not be stored */
    append: (row: WaitingRow['row']): Promise<void> =>
      new Promise((done, failed) => {
        waiting.push({ row, done, failed })
        writing ??= write()
      }),
    async close(): Promise<void> {
      await writing
      await handle?.file.close()
      handle = undefined
    },
  }
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

/** The same ledger, which calls `used` before each access, with whether it is a write. */
export const observedLedger = (ledger: Ledger, used: (isPut: boolean) => Promise<void>): Ledger => ({
  async append(row) {
    await used(true)
    await ledger.append(row)
  },
  async *read(onProblem) {
    await used(false)
    yield* ledger.read(onProblem)
  },
  async *readSince(position) {
    await used(false)
    yield* ledger.readSince(position)
  },
  async inspect() {
    await used(false)
    return ledger.inspect()
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
