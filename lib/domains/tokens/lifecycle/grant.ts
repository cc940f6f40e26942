import type { RequireApproval } from '#lib/kernel/approval.ts'
import type { Actor, MutationContext } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { requireRecentPassword } from '#lib/kernel/step-up.ts'
import type { GrantToken, IssueToken, TokenAgentStatus } from '../ports.ts'
import { adminTokenLife, grantable, outlives, type TokenScope } from '../rules.ts'
import { type Issuer, lockIssuer } from './lineage.ts'

/** Whether the actor is the agent itself or the person who owns it. */
export const isOwn = (actor: Actor, agent: Pick<TokenAgentStatus, 'id' | 'ownerId'>): boolean =>
  actor.kind === 'agent'
    ? actor.id === agent.id
    : actor.kind === 'person' && actor.accountId !== undefined && actor.accountId === agent.ownerId

/**
 * Expiry of a new token with scope `admin`. A leaked token or an unattended browser must not gain permanent access.
 * @throws {Problem} `scope_too_small` or `forbidden` unless the actor is an admin in a session; `step_up_required`
 */
export function endOfAdminToken(ctx: Pick<MutationContext, 'actor' | 'now'>): Date {
  if (ctx.actor.kind === 'agent' && !ctx.actor.isAdmin)
    throw new Problem(
      'scope_too_small',
      'This token cannot grant the scope "admin" because it does not have that scope.',
    )
  if (ctx.actor.kind !== 'person' || !ctx.actor.isAdmin)
    throw new Problem(
      'forbidden',
      'Only an admin who is signed in to the console can grant the scope "admin". No token was created.',
    )
  requireRecentPassword(ctx)
  return new Date(ctx.now.getTime() + adminTokenLife)
}

/**
 * Rejects scopes and lifetimes beyond the actor's own, so that a leaked token cannot extend its own access. `issuer` is the actor's token;
 * a token that expires cannot issue one that expires later.
 */
export function refuseEscalation(
  ctx: MutationContext,
  issuer: Issuer | null,
  wanted: { scopes: readonly TokenScope[]; expiresAt: Date | null },
): void {
  if (wanted.scopes.includes('admin') && outlives(wanted.expiresAt, endOfAdminToken(ctx)))
    throw invalid(
      ['expires_at'],
      'is more than 90 days from now, which is the limit for a token with the scope "admin"',
    )
  const may = grantable(ctx.actor)
  const beyond = wanted.scopes.find((scope) => !may.includes(scope))
  if (beyond)
    throw ctx.actor.kind === 'agent'
      ? new Problem(
          'scope_too_small',
          `This token cannot grant the scope "${beyond}" because it does not have that scope.`,
        )
      : new Problem('forbidden', `Only an admin can grant the scope "${beyond}".`)
  if (outlives(wanted.expiresAt, issuer?.expiresAt ?? null))
    throw new Problem(
      'forbidden',
      'A token that expires cannot create a token that expires later. Choose an earlier expiry.',
    )
}

/** Issues a token within the actor's own scopes and lifetime. The caller must already have checked that the actor may manage the agent. */
export const tokenGrant =
  (issue: IssueToken, requireApproval: RequireApproval): GrantToken =>
  async (ctx, { expiresAt, request, ...spec }) => {
    const issuer = await lockIssuer(ctx)
    const longest = spec.scopes.includes('admin') ? endOfAdminToken(ctx) : (issuer?.expiresAt ?? null)
    const wanted = { ...spec, expiresAt: expiresAt ?? longest }
    refuseEscalation(ctx, issuer, wanted)
    if (spec.scopes.includes('admin')) await requireApproval(ctx, request)
    return issue(ctx.tx, { ...wanted, issuedByTokenId: issuer?.id ?? null, now: ctx.now })
  }
