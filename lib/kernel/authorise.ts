import type { Context } from './context.ts'
import { requireStorable } from './data-regions.ts'
import { isInPerson } from './effects.ts'
import { requireOwnToken, requirePerson } from './guards.ts'
import type { OperationShape } from './operation.ts'
import { Problem } from './problem.ts'
import { requireRecentPassword } from './step-up.ts'

/** Whether it is a write that a restricted or paused caller may not make. Deletion and operations on data about oneself remain allowed. */
const isOrdinaryWriting = ({ limit, method, permission }: OperationShape): boolean =>
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
