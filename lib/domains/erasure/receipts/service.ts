import { z } from 'zod'
import { runsRequestedBy } from '#lib/domains/privacy-requests/queries.ts'
import type { Actor } from '#lib/kernel/context.ts'
import { partKinds } from '#lib/kernel/erasure-scope.ts'
import { encodeCursor, pageOf, parseCursor, type TimeCursor } from '#lib/kernel/pages.ts'
import { CompleteReading, type ErasedKind, type Receipt, subjectKinds } from '#lib/kernel/receipt.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { fallbackCache } from '#lib/stores/postgres/fallback-cache.ts'
import { listReceipts, listTombstones, readReceipt, readSigningKeys } from '../contract.ts'
import type { RecordErasures } from '../engine/in-request.ts'
import { settlingTime } from '../rules.ts'
import { tombstoneCount, tombstonePage } from '../suppression/repository.ts'
import { ownReceiptCount, ownReceiptPage, runOfReceipt } from './repository.ts'
import type { Signer } from './signing.ts'

/** Number of receipts that a process can still return while the database is down. */
const maxRemembered = 1_000

/** Adds the second signed statement, if every connected store was read completely after the erasure. */
async function withReading(db: Database, receipt: Receipt): Promise<Receipt> {
  const row = await db.prisma.receiptReading.findUnique({ where: { receiptId: receipt.receipt_id } })
  return row ? { ...receipt, complete_reading: CompleteReading.parse(row.statement) } : receipt
}

/** Where a list starts without a cursor. */
const beginning = { at: new Date('2000-01-01T00:00:00Z'), id: '-' }

/** Lists erased units and skills that others could copy, oldest first (GDPR art. 19). */
const tombstones = (db: Database) =>
  read(listTombstones, async ({ now }, { query: { cursor, limit } }) => {
    const after = parseCursor(cursor) ?? beginning
    const settled = new Date(now.getTime() - settlingTime)
    const from = { afterAt: after.at, afterId: after.id, settled }
    const [rows, [rest]] = await Promise.all([tombstonePage(db, { ...from, limit }), tombstoneCount(db, from)])
    const last = rows.at(-1)
    return {
      body: {
        data: rows.map(({ id, erased_at }) => ({ id, erased_at })),
        total: rest?.n ?? 0,
        offset: 0,
        limit,
        next_cursor: last ? encodeCursor(last.erased_at, last.id) : encodeCursor(after.at, after.id),
      },
      resourceId: 'list',
    }
  })

/** The public use cases of receipts: anyone who knows an id may read the receipt. */
export function receiptUseCases({
  db,
  signer,
  records,
}: {
  db: Database
  signer: Pick<Signer, 'keys'>
  records: Pick<RecordErasures, 'finish'>
}) {
  const remembered = fallbackCache<Receipt>(maxRemembered)
  return {
    tombstones: tombstones(db),
    /** The first request for the receipt completes an erasure that a crash interrupted. */
    read: read(readReceipt, async (_ctx, { params }) => ({
      body: await remembered.of(params.id, async () => withReading(db, await records.finish(params.id))),
      resourceId: params.id,
    })),
    keys: read(readSigningKeys, async () => ({
      body: { keys: await signer.keys() },
      resourceId: 'jwks',
      headers: { 'Content-Type': 'application/jwk-set+json', 'Cache-Control': 'public, max-age=300' },
    })),
  }
}

type ReceiptRow = Awaited<ReturnType<typeof ownReceiptPage>>[number]

const Kind = z.enum([...subjectKinds, ...partKinds])
const kindOf = ({ part_kind, subject_kind, deleted_id: id }: ReceiptRow): ErasedKind => {
  const kind = part_kind ?? subject_kind
  if (kind !== null) return Kind.parse(kind)
  if (id.startsWith('kp:skill:')) return 'skill'
  return id.startsWith('kp:') && !id.startsWith('kp:agent:') ? 'unit' : 'agent'
}
const viewOf = (row: ReceiptRow) => ({
  receipt_id: row.receipt_id,
  deleted_id: row.deleted_id,
  kind: kindOf(row),
  deleted_at: row.deleted_at,
  signed_at: row.signed_at,
})

/**
 * Lists the receipts of a person: erasures by their agents, erasures of agents that they requested, and parts of
 * projects that they or their agents erased.
 */
export function ownReceipts(db: Database) {
  const ownerValues = async ({ accountId, agents }: Pick<Actor, 'accountId' | 'agents'>) => ({
    agents,
    // A run that erased an agent of this person, and its receipt, no longer name the person.
    runs: accountId === undefined ? [] : await runsRequestedBy(db, accountId),
    actors: [...agents, ...(accountId === undefined ? [] : [`user:${accountId}`])],
  })
  type OwnerValues = Awaited<ReturnType<typeof ownerValues>>
  const rowsAfter = (values: OwnerValues, after: TimeCursor | undefined, limit: number) =>
    ownReceiptPage(db, { ...values, afterAt: after?.at ?? null, afterId: after?.id ?? null, limit })

  return {
    newest: async (actor: Pick<Actor, 'accountId' | 'agents'>, max: number) =>
      (await rowsAfter(await ownerValues(actor), undefined, max)).map(viewOf),

    /**
     * Returns why no receipt with this id exists yet: its erasure is running, or a legal hold covers everything.
     * Undefined when the id is unknown or the receipt exists.
     */
    async standing(receiptId: string): Promise<'under_way' | 'held' | undefined> {
      const [run] = await runOfReceipt(db, { receiptId })
      if (!run || run.state === 'done') return undefined
      return run.state === 'held' && !run.is_fenced ? 'held' : 'under_way'
    },

    list: read(listReceipts, async ({ actor }, { query: { cursor, limit } }) => {
      const after = parseCursor(cursor)
      const values = await ownerValues(actor)
      const [records, [count]] = await Promise.all([rowsAfter(values, after, limit + 1), ownReceiptCount(db, values)])
      const { shown, page } = pageOf(records, limit, count?.n ?? 0, ({ deleted_at, receipt_id }) => ({
        at: deleted_at,
        id: receipt_id,
      }))
      return {
        body: {
          data: shown.map(viewOf),
          ...page,
        },
        resourceId: 'list',
        details: { count: shown.length },
      }
    }),
  }
}
