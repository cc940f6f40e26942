import type { Actor, MutationContext } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { requireRecentPassword } from '#lib/kernel/step-up.ts'
import type { AgentStanding, GrantToken, IssueToken } from './ports.ts'
import { adminTokenLife, grantable, outlives, type Scope } from './rules.ts'

/** The agent itself, or the person who owns it. */
export const isOwn = (actor: Actor, agent: Pick<AgentStanding, 'id' | 'ownerId'>): boolean =>
  actor.kind === 'agent'
    ? actor.id === agent.id
    : actor.kind === 'person' && actor.accountId !== undefined && actor.accountId === agent.ownerId

/** When the longest life ends that the actor may give; null has no end. A token that expires cannot outlive itself by another. */
async function longestLife({ actor, tx }: MutationContext): Promise<Date | null> {
  if (actor.isAdmin || actor.tokenId === undefined) return null
  const own = await tx.token.findUnique({ where: { id: actor.tokenId }, select: { expiresAt: true } })
  return own?.expiresAt ?? null
}

/**
 * When a new token with scope `admin` ends. Throws `forbidden` for a token and for people who are no admins, and `step_up_required`: a leaked
 * token, or an open browser, must not make itself permanent.
 */
export function endOfAdminToken(ctx: Pick<MutationContext, 'actor' | 'now'>): Date {
  if (ctx.actor.kind === 'agent' && !ctx.actor.isAdmin)
    throw new Problem('scope_too_small', 'This token lacks the scope "admin", so it cannot give it.')
  if (ctx.actor.kind !== 'person' || !ctx.actor.isAdmin)
    throw new Problem(
      'forbidden',
      'Only an admin gives the scope "admin", in a session of their own: no token does it. Nothing was created.',
    )
  requireRecentPassword(ctx)
  return new Date(ctx.now.getTime() + adminTokenLife)
}

/** Refuses to hand out more than the actor has: a leaked token must not make itself a wider or a longer-lived one. */
export async function refuseEscalation(
  ctx: MutationContext,
  wanted: { scopes: readonly Scope[]; expiresAt: Date | null },
): Promise<void> {
  if (wanted.scopes.includes('admin') && outlives(wanted.expiresAt, endOfAdminToken(ctx)))
    throw invalid(['expires_at'], 'is later than 90 days from now, the longest life of a token with scope "admin"')
  const may = grantable(ctx.actor)
  const beyond = wanted.scopes.find((scope) => !may.includes(scope))
  if (beyond)
    throw ctx.actor.kind === 'agent'
      ? new Problem('scope_too_small', `This token lacks the scope "${beyond}", so it cannot give it.`)
      : new Problem('forbidden', `Only an admin may give the scope "${beyond}".`)
  if (outlives(wanted.expiresAt, await longestLife(ctx)))
    throw new Problem('forbidden', 'This token expires, and it cannot give a life longer than its own.')
}

/** Issues a token on behalf of whoever asks, within what they have themselves. Whose agent it is, the caller has checked. */
export const tokenGrant =
  (issue: IssueToken): GrantToken =>
  async (ctx, { expiresAt, ...spec }) => {
    const longest = spec.scopes.includes('admin') ? endOfAdminToken(ctx) : await longestLife(ctx)
    const wanted = { ...spec, expiresAt: expiresAt ?? longest }
    await refuseEscalation(ctx, wanted)
    return issue(ctx.tx, { ...wanted, now: ctx.now })
  }
