import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { freedOf, type Restriction, type RestrictionReason, restrictedBy } from '#lib/kernel/restriction.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { servedAuthorSql } from '../readable-rows.ts'
import { findRestricted, lockRestrictions } from './repository.ts'

/** SQL: whether a row with an author may be served to {@link restrictedReader}. */
export const servedSql = (alias: string, reader: string): string =>
  servedAuthorSql(`${alias}.author_kind`, `${alias}.author_id`, reader)

/** The agent that reads, to which restrictions apply; null for people. */
export const restrictedReader = ({ kind, id }: Pick<Actor, 'kind' | 'id'>): string | null =>
  kind === 'agent' ? id : null

export const isRestricted = (): Problem =>
  new Problem(
    'restricted',
    'The processing of this author’s data is restricted, so agents can neither read nor change it. Members can still read it with their own account, and it can be exported and erased.',
  )

/** Rejects an agent's access to data of a restricted author. @throws {Problem} `restricted` */
export async function refuseRestricted(
  on: Queryable,
  actor: Pick<Actor, 'kind' | 'id'>,
  { author_kind: kind, author_id: id }: { author_kind: string; author_id: string },
): Promise<void> {
  const reader = restrictedReader(actor)
  if (reader === null || (kind === 'agent' && id === reader)) return
  if ((await findRestricted(on, { kind, id })).length > 0) throw isRestricted()
}

async function change(
  tx: Transaction,
  ids: readonly string[],
  next: (restriction: Restriction) => Restriction,
): Promise<void> {
  for (const { id, ...restriction } of await lockRestrictions(tx, { ids }))
    await tx.projectParticipant.update({ where: { id }, data: next(restriction) })
}
/** Restricts the processing of the participants' data for a reason. */
export const restrictParticipants = (
  tx: Transaction,
  ids: readonly string[],
  reason: RestrictionReason,
  now: Date,
): Promise<void> => change(tx, ids, (restriction) => restrictedBy(restriction, reason, now))
/** Lifts the restriction for one reason. Restrictions for other reasons remain. */
export const unrestrictParticipants = (
  tx: Transaction,
  ids: readonly string[],
  reason: RestrictionReason,
): Promise<void> => change(tx, ids, (restriction) => freedOf(restriction, reason))
