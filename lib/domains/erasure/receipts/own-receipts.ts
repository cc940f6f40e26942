import { z } from 'zod'
import { listReceipts } from '#lib/domains/erasure/contract.ts'
import type { Actor } from '#lib/kernel/context.ts'
import { partKinds } from '#lib/kernel/data-source.ts'
import { pageOf, parseCursor, type TimeCursor } from '#lib/kernel/pages.ts'
import { type ErasedKind, subjectKinds } from '#lib/kernel/receipt.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export interface OwnReceiptPorts {
  db: Database
  /**
   * Ids of runs that erased agents of this person at the person's request. Such a run and its receipt no longer name
   * the person.
   */
  runsRequestedBy(accountId: string): Promise<string[]>
}
interface ReceiptRow {
  receipt_id: string
  deleted_id: string
  deleted_at: Date
  signed_at: Date | null
  subject_kind: string | null
  part_kind: string | null
}
const countedTo = 1_001
/**
 * $1 the agents, $2 the runs, $3 the actors as named in the audit log, for parts of projects. A receipt's id grants
 * read access: the query must never return the receipt of another person.
 */
const own = `former_owner = ANY($1::text[]) OR receipt_id IN (SELECT receipt_id FROM erasure_runs WHERE id = ANY($2::text[]) OR (part_kind IS NOT NULL AND requested_by = ANY($3::text[])))`
const selectPage = `SELECT receipt_id, deleted_id, deleted_at, signed_at, receipt->>'subject_kind' AS subject_kind, receipt->>'part_kind' AS part_kind FROM erasures
  WHERE (${own}) AND ($4::timestamptz IS NULL OR (deleted_at, receipt_id) < ($4, $5))
  ORDER BY deleted_at DESC, receipt_id DESC LIMIT $6`

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
  deleted_at: row.deleted_at.toISOString(),
  signed_at: row.signed_at?.toISOString() ?? null,
})

/**
 * Lists the receipts of a person: erasures by their agents, erasures of agents that they requested, and parts of
 * projects that they or their agents erased.
 */
export function ownReceipts({ db, runsRequestedBy }: OwnReceiptPorts) {
  const ownerValues = async ({ accountId, agents }: Pick<Actor, 'accountId' | 'agents'>) =>
    [
      agents,
      accountId === undefined ? [] : await runsRequestedBy(accountId),
      [...agents, ...(accountId === undefined ? [] : [`user:${accountId}`])],
    ] as const
  const rowsAfter = (values: readonly unknown[], after: TimeCursor | undefined, limit: number) =>
    db.query<ReceiptRow>('own-receipts', selectPage, [...values, after?.at ?? null, after?.id ?? null, limit])

  return {
    newest: async (actor: Actor, most: number) =>
      (await rowsAfter(await ownerValues(actor), undefined, most)).map(viewOf),

    /**
     * Returns why no receipt with this id exists yet: its erasure is running, or a legal hold covers everything.
     * Undefined when the id is unknown or the receipt exists.
     */
    async standing(receiptId: string): Promise<'under_way' | 'held' | undefined> {
      const [run] = await db.query<{ state: string; is_fenced: boolean }>(
        'receipt-standing',
        'SELECT state::text AS state, fenced_at IS NOT NULL AS is_fenced FROM erasure_runs WHERE receipt_id = $1',
        [receiptId],
      )
      if (!run || run.state === 'done') return undefined
      return run.state === 'held' && !run.is_fenced ? 'held' : 'under_way'
    },

    list: read(listReceipts, async ({ actor }, { query: { cursor, limit } }) => {
      const after = parseCursor(cursor)
      const values = await ownerValues(actor)
      const [records, [count]] = await Promise.all([
        rowsAfter(values, after, limit + 1),
        db.query<{ n: number }>(
          'own-receipts-count',
          `SELECT count(*)::int AS n FROM (SELECT FROM erasures WHERE ${own} LIMIT ${countedTo}) AS counted`,
          values,
        ),
      ])
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
