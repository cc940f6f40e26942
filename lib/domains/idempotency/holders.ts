import { createHash } from 'node:crypto'
import type { DataHolder, Scope } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

const resourceOf = (scope: Scope): string | undefined => ('unit' in scope ? scope.unit : undefined)

/** Stored answers hold what was answered: a contributed unit stands in the answer to its POST. */
export const idempotencyHolder = (db: Database): DataHolder => ({
  name: 'idempotency.answers',
  store: 'postgresql',
  what: 'stored answers to repeated requests',
  tables: ['idempotency_records'],
  async plan(scope, tx) {
    const resourceId = resourceOf(scope)
    if (resourceId === undefined) return []
    const found = await tx.idempotencyRecord.findMany({ where: { resourceId }, select: { scope: true, key: true } })
    // The key is the client's own words: only its hash leaves the table.
    return found.map(({ scope: whose, key }) => createHash('sha256').update(`${whose}\n${key}`).digest('hex')).sort()
  },
  async erase(scope, _plan, tx) {
    const resourceId = resourceOf(scope)
    if (resourceId === undefined) return 0
    return (await tx.idempotencyRecord.deleteMany({ where: { resourceId } })).count
  },
  /** By the text of the answers themselves, not by the column that erase went by; bounded to the 24 hours that answers are kept. */
  async residue(scope) {
    const resourceId = resourceOf(scope)
    if (resourceId === undefined) return 0
    const [row] = await db.query<{ n: number }>(
      'idempotency-residue',
      "SELECT count(*)::int AS n FROM idempotency_records WHERE resource_id = $1 OR (body IS NOT NULL AND body->'data'->>'id' = $1)",
      [resourceId],
    )
    return row?.n ?? 0
  },
})
