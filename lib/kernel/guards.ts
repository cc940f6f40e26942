import type { Context } from './context.ts'
import { type Effect, isOpenToLent } from './effects.ts'
import type { OperationShape } from './operation.ts'
import { Problem } from './problem.ts'
import { requireRecentPassword } from './step-up.ts'

/** What guards need of a context. */
export type GuardedContext = Pick<Context, 'actor' | 'now' | 'consulted'>

/** Records that the guard of the effect decided in this run. */
export function consulted({ consulted: seen }: Pick<Context, 'consulted'>, effect: Effect): void {
  seen?.add(effect)
}

/** @throws Problem `forbidden` for every token, also of scope `admin` */
export function requirePerson({ actor }: Pick<Context, 'actor'>, what: string): void {
  if (actor.kind === 'agent')
    throw new Problem('forbidden', `A token cannot ${what}. Sign in to the console as a person. Nothing was changed.`)
}

/**
 * The guard of credentials that one gives to oneself: an admin who issues or rotates a token for an agent of somebody else gains nothing over the
 * agent, until its owner or the agent itself rotates the token.
 */
export function requireOwnToken(
  { actor }: Pick<Context, 'actor'>,
  { id, permission }: Pick<OperationShape, 'id' | 'permission'>,
): void {
  if (!actor.isLent || isOpenToLent(id)) return
  const verb = permission.slice(permission.lastIndexOf(':') + 1)
  // The admin who issued it has these rights.
  if (verb === 'admin' || verb === 'audit' || (permission === 'audit:self' && actor.isAdmin)) return
  throw new Problem(
    'forbidden',
    'An admin issued this token for an agent of somebody else, so it can contribute and read what everybody may read. For all other rights, the owner of the agent rotates it (POST /v1/auth/tokens/{id}/rotate). Nothing was changed.',
  )
}

/**
 * The guard of exports. The subject gets everything. Anybody else must be a person with a recently entered password, and sees private
 * content only within a request for access or portability that the subject confirmed.
 * @returns whether the export contains private content
 */
export function guardExport(
  ctx: GuardedContext,
  { isOwn, isRequested }: { isOwn: boolean; isRequested: boolean },
): boolean {
  consulted(ctx, 'export-subject')
  if (isOwn) return true
  requirePerson(ctx, 'export the data of another subject')
  requireRecentPassword(ctx)
  return isRequested
}

const readers = ['private', 'org', 'network'] as const

/**
 * The guard of changes to one record of somebody else, which an admin can make to what is shared: in person with a recently entered
 * password, and never so that more people can read it.
 */
export function guardRecord(
  ctx: GuardedContext,
  effect: 'erase-words' | 'publish',
  { isOwn, from, to }: { isOwn: boolean } & Partial<Record<'from' | 'to', (typeof readers)[number]>>,
): void {
  consulted(ctx, effect)
  if (isOwn) return
  requirePerson(ctx, 'change or erase records of others')
  requireRecentPassword(ctx)
  if (from !== undefined && to !== undefined && readers.indexOf(to) > readers.indexOf(from))
    throw new Problem('forbidden', 'Only the author can show a record to more readers. Nothing was changed.')
}

/**
 * The guard of retention periods: a shorter one lets the next sweep erase records of others, so only a person sets it, and it waits until it
 * can no longer be cancelled. A sweep applies what is in force, so starting one needs no person.
 */
export function guardRetention(ctx: GuardedContext, isShorter: boolean): void {
  consulted(ctx, 'erase-words')
  if (isShorter && ctx.actor.kind === 'agent')
    throw new Problem(
      'forbidden',
      'A token cannot shorten a retention period. An admin does this in the console, under Retention, and it is in force after 24 hours. Nothing was changed.',
    )
}

/**
 * The guard of irreversible acts on one's own account, before the caller verifies the password. An account with a second factor needs it too:
 * a session that was open before, or whose cookie somebody copied, does not pass with the password alone.
 */
export function guardOwnAct(ctx: GuardedContext, hasFactor: boolean): void {
  consulted(ctx, 'act-on-oneself')
  if (hasFactor) requireRecentPassword(ctx)
}

/** The guard of privacy requests: identity is confirmed, and subjects are erased, by themselves or by an admin in person. */
export function guardRequestChange(ctx: GuardedContext, asAdmin: boolean): void {
  consulted(ctx, 'confirm-identity')
  consulted(ctx, 'erase-subject')
  if (asAdmin) requirePerson(ctx, 'act on privacy requests of others')
}
