import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { ItemId } from '#lib/kernel/data-source.ts'
import type { RunState } from '#lib/kernel/erasure-run.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { RecordErasures } from './engine/in-request.ts'
import { openRunCounts, waitingStores } from './engine/repository.ts'
import { ledgerHistory } from './ledger/ledger-history.ts'
import { foundReceipts, receiptIdOf } from './receipts/repository.ts'
import { ownReceipts } from './receipts/service.ts'
import { deletionsPerWeek, deletionsReported, verificationReported } from './repository.ts'
import { activeRunRows } from './runs/repository.ts'
import { erasedIdsOf } from './suppression/repository.ts'

interface ActiveRun {
  id: string
  requestId: string | null
  /** Null when the run erases no part of a project. */
  projectId: string | null
  state: RunState
  stepsDone: number
  stepsTotal: number
  isStuck: boolean
  createdAt: Date
  /** Number of all runs, including those beyond the limit. */
  total: number
}

/** Filter: these runs, and runs of parts of projects that this actor requested (as named in the audit log). */
interface ActiveRunFilter {
  runs: readonly string[]
  askedBy: string
}
/** Returns unfinished and failed runs, newest first, at most 20: all of them, or filtered. */
export const activeRuns = (db: Database, filter?: ActiveRunFilter): Promise<ActiveRun[]> =>
  activeRunRows(db, { runs: filter?.runs ?? null, askedBy: filter?.askedBy ?? null })

/** Finds receipts by their id, and by the id of the erased data: for admins and auditors all, for others their own. */
export const findReceipts = (
  db: Database,
  actor: Pick<Actor, 'agents' | 'can'>,
  id: string,
): Promise<{ id: string; deletedId: string }[]> =>
  foundReceipts(db, { id, agents: actor.agents, everyone: actor.can('erasures:audit') })

/** Counts the unfinished and failed runs by state. */
export async function openRuns(db: Database) {
  const [row] = await openRunCounts(db, {})
  return row ?? { planning: 0, erasing: 0, verifying: 0, held: 0, failed: 0, stuck: 0 }
}

/** Stores for which erasures wait, because they do not respond or reject the erasure. */
export const storesWithWaitingErasures = (db: Database) => waitingStores(db, {})

/** Returns the newest receipts of a person. */
export const newestReceipts = (db: Database, actor: Pick<Actor, 'accountId' | 'agents'>, limit: number) =>
  ownReceipts(db).newest(actor, limit)

/** Finds an erasure run by its id, for admins and auditors. */
export async function findErasure(db: Database, actor: Pick<Actor, 'can'>, id: string): Promise<string | undefined> {
  if (!actor.can('erasures:audit')) return undefined
  return (await db.prisma.erasureRun.findUnique({ where: { id }, select: { id: true } }))?.id
}

const weekMs = 7 * 86_400_000

/** The number of receipts that were signed after a time. */
export const receiptsSignedSince = ({ prisma }: Database, since: Date): Promise<number> =>
  prisma.erasure.count({ where: { signedAt: { gt: since } } })

/** The number of deletions with a receipt in each of the last weeks, oldest first. */
export async function deletionsByWeek(db: Database, now: Date, weeks: number): Promise<number[]> {
  const rows = await deletionsPerWeek(db, { now, from: new Date(now.getTime() - weeks * weekMs) })
  return Array.from({ length: weeks }, (_, index) => rows.find((row) => row.weeks_ago === weeks - 1 - index)?.n ?? 0)
}

/** Returns those of the ids that were erased, by the erasure of a receipt if one is given. An erased id can never be used again. */
export async function erasedAmong(
  tx: Pick<Transaction, 'erasedId'>,
  ids: readonly string[],
  receiptId?: string,
): Promise<string[]> {
  if (ids.length === 0) return []
  const where = { id: { in: [...ids] }, ...(receiptId !== undefined && { receiptId }) }
  return (await tx.erasedId.findMany({ where, select: { id: true } })).map(({ id }) => id)
}

/** Returns those of the ids whose erased units or skills one of `owners` owned. */
export const erasedOf = async (tx: Transaction, ids: readonly string[], owners: readonly string[]): Promise<string[]> =>
  (await erasedIdsOf(tx, { ids, owners })).map(({ id }) => id)

/** An executed erasure of a person or an agent, read from the erasure ledger. */
interface ErasedSubject {
  account: string | null
  agents: readonly string[]
  /** When the erasure was planned. */
  at: Date
  /** Until when backups can restore the erased data and the ledger keeps the items. Null: as long as the ledger exists. */
  until: Date | null
  /** The items that one data source erased. Empty when the ledger no longer holds them. */
  items: ReadonlySet<ItemId>
}

/** Reads the ledger. Returns undefined when the receipt is unknown or belongs to an erasure without a subject. */
export const erasedSubjects =
  ({ ledger, backupDays }: { ledger: Pick<Ledger, 'read'>; backupDays: number | undefined }) =>
  async (receiptId: string, dataSource: string): Promise<ErasedSubject | undefined> => {
    const found = (await ledgerHistory(ledger)).committed.find(({ intent }) => intent.id === receiptId)
    if (!found || !('subject' in found.intent.scope)) return undefined
    const { account, agents } = found.intent.scope.subject
    const items = new Set<ItemId>()
    for await (const row of ledger.read())
      if (row.kind === 'items' && row.id === receiptId && row.holder === dataSource)
        for (const item of row.items) items.add(item)
    const until = backupDays === undefined ? null : new Date(Date.parse(found.commit.at) + backupDays * 86_400_000)
    return { account, agents, at: new Date(found.intent.at), until, items }
  }

/** Number of all erasures of records, and of all entries of the deletion log. */
export async function countErasures(tx: Transaction): Promise<{ erasures: number; deletions: number }> {
  const [erasures, deletions] = await Promise.all([tx.erasure.count(), tx.deletionAuditEntry.count()])
  return { erasures, deletions }
}

/** Returns the items with this prefix that a data source erased or still has to erase in a run. */
export async function itemsBeginning(
  tx: Transaction,
  { runId, holder, prefix }: { runId: string; holder: string; prefix: string },
): Promise<string[]> {
  const pages = await tx.erasurePage.findMany({ where: { runId, holder }, orderBy: { page: 'asc' } })
  return pages.flatMap(({ items }) => items.filter((one) => one.startsWith(prefix)))
}

/** The deletions of a period by week, and what was verified, for the report. */
export async function reportOfErasures(db: Database, period: { from: Date; until: Date }) {
  const [weeks, [verified]] = await Promise.all([deletionsReported(db, period), verificationReported(db, period)])
  if (!verified) throw new Error('An aggregate returns one row.')
  const days = (period.until.getTime() - period.from.getTime()) / 86_400_000
  return {
    deletions: Array.from({ length: Math.max(1, Math.ceil(days / 7)) }, (_, index) => ({
      from: new Date(period.from.getTime() + index * weekMs),
      count: weeks.find(({ week }) => week === index)?.n ?? 0,
    })),
    verified,
  }
}

/**
 * Returns the receipt id of an erased id if one of `owners` owned it, otherwise undefined. A given transaction avoids a
 * second connection.
 */
export const receiptFinder =
  (db: Database) =>
  async (deletedId: string, owners: readonly string[], tx?: Transaction): Promise<string | undefined> =>
    (await receiptIdOf(tx ?? db, { deletedId, owners }))[0]?.receipt_id

/** How the domain of units and skills begins and finishes an erasure, and finds its receipt. */
export type UnitErasures = Pick<RecordErasures, 'begin' | 'finishCommitted'> & {
  receiptFor: ReturnType<typeof receiptFinder>
}
