import type { DataHolder, Scope } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { Prisma } from '../../../generated/prisma/client.ts'
import { erasedStatus } from './records.ts'

const resourceOf = (scope: Scope): string | undefined =>
  'unit' in scope ? scope.unit : 'skill' in scope ? scope.skill : undefined

/** Stored answers hold what was answered: a contributed unit or skill stands in the answer to its POST. */
export const idempotencyHolder = (db: Database): DataHolder => ({
  name: 'idempotency.answers',
  store: 'postgresql',
  what: 'stored answers to repeated requests',
  tables: ['idempotency_records'],
  async plan(scope, tx) {
    const resourceId = resourceOf(scope)
    if (resourceId === undefined) return []
    const found = await tx.idempotencyRecord.findMany({ where: { resourceId }, select: { scope: true, key: true } })
    return found.map(({ scope: whose, key }) => `${whose}:${key}`).sort()
  },
  /** The answer goes; that there was one stays for its 24 hours, so that a late repetition does not bring the content back. */
  async erase(scope, _plan, tx) {
    const resourceId = resourceOf(scope)
    if (resourceId === undefined) return 0
    const { count } = await tx.idempotencyRecord.updateMany({
      where: { resourceId, status: { not: erasedStatus } },
      data: { status: erasedStatus, body: Prisma.DbNull, headers: {} },
    })
    return count
  },
  /** By the text of the answers themselves, not by the column that erase went by. */
  async residue(scope) {
    const resourceId = resourceOf(scope)
    if (resourceId === undefined) return 0
    const [row] = await db.query<{ n: number }>(
      'idempotency-residue',
      "SELECT count(*)::int AS n FROM idempotency_records WHERE body IS NOT NULL AND (body->'data'->>'id' = $1 OR resource_id = $1)",
      [resourceId],
    )
    return row?.n ?? 0
  },
})
