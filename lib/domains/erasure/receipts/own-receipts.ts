import { z } from 'zod'
import { listReceipts } from '#lib/domains/erasure/contract.ts'
import type { Actor } from '#lib/kernel/context.ts'
import { partKinds } from '#lib/kernel/erasure-scope.ts'
import { pageOf, parseCursor, type TimeCursor } from '#lib/kernel/pages.ts'
import { type ErasedKind, subjectKinds } from '#lib/kernel/receipt.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { ownReceiptCount, ownReceiptPage, runOfReceipt } from './repository.ts'

export interface OwnReceiptPorts {
  db: Database
  /**
   * Ids of runs that erased agents of this person at the person's request. Such a run and its receipt no longer name
   * the person.
   */
  runsRequestedBy(accountId: string): Promise<string[]>
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
  deleted_at: row.deleted_at.toISOString(),
  signed_at: row.signed_at?.toISOString() ?? null,
})

/**
 * Lists the receipts of a person: erasures by their agents, erasures of agents that they requested, and parts of
 * projects that they or their agents erased.
 */
export function ownReceipts({ db, runsRequestedBy }: OwnReceiptPorts) {
  const ownerValues = async ({ accountId, agents }: Pick<Actor, 'accountId' | 'agents'>) => ({
    agents,
    runs: accountId === undefined ? [] : await runsRequestedBy(accountId),
    actors: [...agents, ...(accountId === undefined ? [] : [`user:${accountId}`])],
  })
  type OwnerValues = Awaited<ReturnType<typeof ownerValues>>
  const rowsAfter = (values: OwnerValues, after: TimeCursor | undefined, limit: number) =>
    ownReceiptPage(db, { ...values, afterAt: after?.at ?? null, afterId: after?.id ?? null, limit })

  return {
    newest: async (actor: Actor, most: number) =>
      (await rowsAfter(await ownerValues(actor), undefined, most)).map(viewOf),

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
