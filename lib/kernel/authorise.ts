import type { Context } from './context.ts'
import { requireStorable } from './data-regions.ts'
import { type Effect, isInPerson, isOpenToLent } from './effects.ts'
import type { OperationShape } from './operation.ts'
import { Problem } from './problem.ts'

/** For how many milliseconds after the password was entered dangerous actions are allowed. */
export const passwordStaysRecent = 10 * 60_000

/**
 * Requires a session whose password was entered within the last ten minutes: an unlocked browser or a stolen cookie is not enough.
 * Tokens pass; operations that tokens may not call reject them elsewhere. @throws `step_up_required`
 */
export function requireRecentPassword({ actor, now }: Pick<Context, 'actor' | 'now'>): void {
  if (actor.kind !== 'person') return
  const age = actor.passwordAt && now.getTime() - actor.passwordAt.getTime()
  if (age === undefined || age > passwordStaysRecent)
    throw new Problem(
      'step_up_required',
      'Confirm your password (POST /api/account/confirm), then repeat the request within ten minutes.',
    )
}

/** What guards need of a context. */
export type GuardedContext = Pick<Context, 'actor' | 'now' | 'consulted'>

/** Records that the guard of the effect decided in this run. */
export function consulted({ consulted: seen }: Pick<Context, 'consulted'>, effect: Effect): void {
  seen?.add(effect)
}

/** @throws Problem `forbidden` for every token, also of scope `admin` */
function requirePerson({ actor }: Pick<Context, 'actor'>, what: string): void {
  if (actor.kind === 'agent')
    throw new Problem('forbidden', `A token cannot ${what}. Sign in to the console as a person. Nothing was changed.`)
}

/**
 * The guard of credentials that one gives to oneself: an admin who issues or rotates a token for an agent of somebody else gains nothing over the
 * agent, until its owner or the agent itself rotates the token.
 */
function requireOwnToken(
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
 * The guard of changes to a shared record. Its author may change it. An admin may change a record of somebody else only in person, with a
 * recently entered password, and may not show it to more readers.
 * @throws Problem `forbidden`
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
 * The guard of retention periods. A shorter period makes sweeps delete records of others, so a token cannot set it, and it applies only after
 * 24 hours in which it can be cancelled. A sweep applies the periods in force, so a token may start one.
 * @throws Problem `forbidden`
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
 * The guard of irreversible acts on one's own account. The caller verifies the password afterwards. An account with a second factor must
 * also have confirmed it within the last ten minutes, because the password is not enough for an old session or a copied cookie.
 * @throws Problem `step_up_required`
 */
export function guardOwnAct(ctx: GuardedContext, hasFactor: boolean): void {
  consulted(ctx, 'act-on-oneself')
  if (hasFactor) requireRecentPassword(ctx)
}

/**
 * The guard of applications that act for people without an account, or close projects. It rejects a token that is older than the last change
 * of its owner's password or second factor, because an intruder in the owner's session could have created that token.
 * @throws Problem `forbidden` until the owner of the agent rotates the token
 */
export function guardApplication({ actor }: Pick<Context, 'actor'>): void {
  if (actor.needsOwner)
    throw new Problem(
      'forbidden',
      'The owner of this agent changed how they sign in after this token was created. It acts for participants and closes projects again after the owner rotated it (POST /v1/auth/tokens/{id}/rotate). Nothing was changed.',
    )
}

/** The guard of privacy requests: identity is confirmed, and subjects are erased, by themselves or by an admin in person. */
export function guardRequestChange(ctx: GuardedContext, asAdmin: boolean): void {
  consulted(ctx, 'confirm-identity')
  consulted(ctx, 'erase-subject')
  if (asAdmin) requirePerson(ctx, 'act on privacy requests of others')
}

/** Whether it is a write that a restricted or paused caller may not make. Deletion and operations on data about oneself remain allowed. */
export const isOrdinaryWriting = ({ limit, method, permission }: OperationShape): boolean =>
  limit === 'write' && method !== 'delete' && permission !== 'public' && !permission.endsWith(':self')

/** @throws Problem if the caller may not run the operation */
export function authorise(operation: OperationShape, ctx: Context): void {
  const { actor } = ctx
  if (actor.status === 'dead' && !operation.isOpenToDead)
    throw new Problem(
      'dead',
      'This agent has been retired. For 24 hours, its token can only export heartbeats (GET /v1/agents/{id}/heartbeats/export). Its owner still has its documents.',
    )
  if (actor.lacksSecondFactor && operation.permission !== 'public' && !operation.isOpenWithoutSecondFactor)
    throw new Problem(
      'second_factor_required',
      'Add a second factor to your account on the page /account/second-factor. Nothing was changed. Your own data and requests stay available on the page /settings/privacy.',
    )
  if (!actor.can(operation.permission)) {
    if (actor.kind === 'anonymous')
      throw new Problem(operation.path.startsWith('/v1/') ? 'token_missing' : 'sign_in_needed')
    const [, verb] = operation.permission.split(':')
    const isScope =
      actor.kind === 'agent' && (verb === 'read' || verb === 'write' || verb === 'privacy' || verb === 'admin')
    throw new Problem(
      isScope ? 'scope_too_small' : 'forbidden',
      isScope ? `This operation needs the scope "${verb}".` : {},
    )
  }
  if (isInPerson(operation.id)) requirePerson(ctx, 'call this operation')
  requireOwnToken(ctx, operation)
  if (operation.needsRecentPassword) requireRecentPassword(ctx)
  if (!isOrdinaryWriting(operation)) return
  // A restriction does not prevent people from erasing their own data (GDPR art. 17, 18(2)).
  if (actor.isRestricted)
    throw new Problem('restricted', 'Writing is paused for this agent because its processing was restricted.')
  if (actor.status === 'paused')
    throw new Problem(
      'paused',
      'This agent is paused. It can read, but it cannot write until its status is "active" again.',
    )
  if (operation.stores && !operation.isOpenOutsideRegion)
    requireStorable(ctx.pipeline.regions, actor.region, 'outside_region')
}
