import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureScope, ItemId, Subject } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import {
  allowScans,
  countItemsWithContent,
  countOwn,
  countShowing,
  deleteOwn,
  inventoryOfResponses,
  responsesToErase,
  withdrawItems,
  withdrawNamingIds,
} from './repository.ts'
import { erasedStatus, replyRetention } from './rules.ts'

const erasedOf = (scope: ErasureScope): string | undefined =>
  'unit' in scope ? scope.unit : 'skill' in scope ? scope.skill : undefined

const accountsOf = ({ account }: Subject): string[] => (account === null ? [] : [account])
/** Scopes and keys of items. A key is a hash and contains no colon. */
function pairsOf(items: readonly ItemId[]): { scopes: string[]; keys: string[] } {
  const cuts = items.map((item) => item.lastIndexOf(':'))
  return {
    scopes: items.map((item, index) => item.slice(0, cuts[index])),
    keys: items.map((item, index) => item.slice((cuts[index] ?? 0) + 1)),
  }
}
const valuesOf = (subject: Subject) => ({ agents: subject.agents, accounts: accountsOf(subject) })

/**
 * Deletes the subject's own responses. Others' responses lose their content but stay as markers, so that a late retry does not repeat the
 * operation.
 */
async function eraseOf(subject: Subject, items: readonly ItemId[], tx: Transaction): Promise<number> {
  const pairs = pairsOf(items)
  const deleted = await deleteOwn(tx, { ...pairs, ...valuesOf(subject) })
  return deleted + (await withdrawItems(tx, { ...pairs, agents: subject.agents }))
}

const residueOf = (db: Database, subject: Subject, items: readonly ItemId[]): Promise<number> =>
  snapshot(db, { enable_seqscan: 'off', jit: 'off' }, async (query) => {
    const [own] = await countOwn(query, valuesOf(subject))
    const [left] = await countItemsWithContent(query, pairsOf(items))
    return (own?.n ?? 0) + (left?.n ?? 0)
  })

/**
 * Stored responses contain response content, such as a contributed unit or skill, and ids. A response that names erased data is not
 * retained.
 */
export const idempotencyDataSource = (db: Database): DataSource => ({
  name: 'idempotency.answers',
  store: 'postgresql',
  stage: 'derived',
  what: 'stored answers to repeated requests',
  purpose: 'answering a repeated request as the first one, so that nothing is done twice',
  kept: '24 hours',
  tables: ['idempotency_records'],
  async inventory(subject) {
    const [row] = await inventoryOfResponses(db, { ...valuesOf(subject), retention: replyRetention })
    return { count: row?.n ?? 0, since: row?.since ?? null, until: row?.until ?? null }
  },
  async plan(scope, tx) {
    if ('subject' in scope) {
      await allowScans(tx, {})
      const rows = await responsesToErase(tx, valuesOf(scope.subject))
      return { items: rows.map(({ id }) => id).sort(), held: {} }
    }
    const id = erasedOf(scope)
    if (id === undefined) return { items: [], held: {} }
    const records = await tx.idempotencyRecord.findMany({
      where: { OR: [{ resourceId: id }, { ids: { has: id } }], status: { not: erasedStatus } },
      select: { scope: true, key: true },
    })
    return { items: records.map(({ scope: owner, key }) => `${owner}:${key}`).sort(), held: {} }
  },
  /**
   * Deletes content but keeps a marker for the 24 hours, so that a late retry does not store the content again. A requester of something
   * else whose response named the record is not told of its erasure.
   */
  async erase(scope, plan, tx) {
    if ('subject' in scope) return eraseOf(scope.subject, plan, tx)
    const id = erasedOf(scope)
    if (id === undefined) return 0
    return withdrawNaming(tx, [id])
  },
  /** Searches the content of responses, not the columns that erase uses. */
  async residue(scope, plan) {
    if ('subject' in scope) return residueOf(db, scope.subject, plan)
    const id = erasedOf(scope)
    if (id === undefined) return 0
    const [row] = await countShowing(db, { id })
    return row?.n ?? 0
  },
})

/** Withdraws responses that name units or skills after their erasure. Returns the number of responses. */
export const withdrawNaming = (tx: Transaction, ids: readonly string[]): Promise<number> =>
  withdrawNamingIds(tx, { ids })
