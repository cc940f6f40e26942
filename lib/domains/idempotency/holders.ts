import type { DataHolder, Scope } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { erasedStatus, withdrawnStatus } from './records.ts'

const erasedOf = (scope: Scope): string | undefined =>
  'unit' in scope ? scope.unit : 'skill' in scope ? scope.skill : undefined

/**
 * Stored answers hold what was answered: a contributed unit or skill stands in the answer to its POST, and an id in many. No answer that
 * names what was erased is kept.
 */
export const idempotencyHolder = (db: Database): DataHolder => ({
  name: 'idempotency.answers',
  store: 'postgresql',
  what: 'stored answers to repeated requests',
  tables: ['idempotency_records'],
  async plan(scope, tx) {
    const id = erasedOf(scope)
    if (id === undefined) return { items: [], held: {} }
    const found = await tx.idempotencyRecord.findMany({
      where: { OR: [{ resourceId: id }, { ids: { has: id } }], status: { not: erasedStatus } },
      select: { scope: true, key: true },
    })
    return { items: found.map(({ scope: whose, key }) => `${whose}:${key}`).sort(), held: {} }
  },
  /**
   * The answers go; that there were some stays for their 24 hours, so that a late repetition does not bring the content back. Who asked
   * about something else, and named this, is not told that it was erased.
   */
  async erase(scope, _plan, tx) {
    const id = erasedOf(scope)
    if (id === undefined) return 0
    return tx.$executeRaw`UPDATE idempotency_records
      SET status = CASE WHEN resource_id = ${id} THEN ${erasedStatus}::int ELSE ${withdrawnStatus}::int END, body = NULL, headers = '{}', ids = '{}'
      WHERE (resource_id = ${id} OR ids @> ARRAY[${id}]) AND status <> ${erasedStatus}::int`
  },
  /** By what stands in the answers themselves, wherever in them, and not by the columns that erase went by. */
  async residue(scope) {
    const id = erasedOf(scope)
    if (id === undefined) return 0
    const [row] = await db.query<{ n: number }>(
      'idempotency-residue',
      'SELECT count(*)::int AS n FROM idempotency_records WHERE ids_in_answer(body, headers) @> ARRAY[$1]',
      [id],
    )
    return row?.n ?? 0
  },
})
