import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { freedOf, type Restriction, type RestrictionReason, restrictedBy } from '#lib/kernel/restriction.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { findRestricted, lockRestrictions } from './repository.ts'

/**
 * SQL: whether a row with an author may be served. Agents may not read data of a participant whose processing is restricted (GDPR art.
 * 18(2)). People of the project may, because they handle the request. `isPerson` is the parameter with the value of {@link isPerson}.
 */
export const servedSql = (alias: string, isPerson: string): string =>
  `(${isPerson} OR ${alias}.author_kind <> 'participant' OR NOT EXISTS (SELECT FROM restricted_participants rp WHERE rp.id = ${alias}.author_id))`
export const isPerson = ({ kind }: Pick<Actor, 'kind'>): boolean => kind !== 'agent'

export const isRestricted = (): Problem =>
  new Problem(
    'restricted',
    'The processing of this participant’s data is restricted, so agents can neither read it nor write on their behalf. Members can still read it with their own account, and it can be exported and erased.',
  )

/** Rejects an agent's access to data of a restricted participant. @throws {Problem} `restricted` */
export async function refuseRestricted(
  on: Queryable,
  actor: Pick<Actor, 'kind'>,
  { author_kind, author_id }: { author_kind: string; author_id: string },
): Promise<void> {
  if (isPerson(actor) || author_kind !== 'participant') return
  if ((await findRestricted(on, { id: author_id })).length > 0) throw isRestricted()
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
