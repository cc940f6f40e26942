import type { Context, SqlRow, Statement, UnboundAuditRecord } from '#lib/kernel/context.ts'
import { groupCommit } from '#lib/kernel/group-commit.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { PreparedUnit } from './preparation.ts'
import { awardStored, storeUnits } from './storage.ts'

/** More would hold the lock of the author's reputation longer, and gain little. */
const mostShared = 16

/** A contribution that was checked but not stored. */
export interface StorableContribution {
  /** Stores it alone. */
  statement: Statement
  unit: PreparedUnit
  organisationId: string
}

interface Member {
  ctx: Pick<Context, 'pipeline' | 'now'>
  planned: StorableContribution
  entry: UnboundAuditRecord | undefined
}

/**
 * Stores contributions of one agent in one transaction, each with its own audit entry. Their time is that of the last one.
 * @throws if not every unit can be stored; then none is
 */
async function storeTogether(members: readonly Member[]): Promise<SqlRow[]> {
  const last = members.at(-1)
  if (!last) return []
  const { now, pipeline } = last.ctx
  const { author } = last.planned.unit
  const { organisationId } = last.planned
  const units = members.map(({ planned }) => planned.unit)
  return pipeline.transaction(async (tx) => {
    const storage = await storeUnits(tx, units, { organisationId, now })
    if (storage.stored.size < units.length) throw new Error('not every unit of a group could be stored')
    await awardStored(tx, author, units, storage, now)
    await pipeline.auditWithin(
      tx,
      ...members.flatMap(({ entry, planned }) => (entry ? [{ ...entry, resourceId: planned.unit.id }] : [])),
    )
    return units.map(({ id }) => ({ resource_id: id, quarantined: storage.quarantined.has(id), stored_at: now }))
  })
}

/**
 * Stores a contribution whose id the registry made, together with others that the same agent sends at the same time. Ids that clients
 * choose may have to wait for another transaction with the same id, so they are not stored with others.
 */
export function sharedStorage() {
  const add = groupCommit<Member, SqlRow | undefined>({
    alone: ({ ctx, planned, entry }) => ctx.pipeline.statement(planned.statement, entry),
    together: storeTogether,
    // If the database is down or too slow, it is so for each of them.
    isWorthRepeating: (error) => !(Problem.is(error) && error.code === 'unavailable'),
    most: mostShared,
    lanes: 2,
  })
  return (ctx: Context, planned: StorableContribution, entry: UnboundAuditRecord | undefined) =>
    add(`${planned.unit.author} ${planned.organisationId}`, { ctx, planned, entry })
}
