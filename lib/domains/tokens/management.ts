import type { MutationContext } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { createToken, revokeByPrefix, revokeToken, rotateToken } from './contract.ts'
import { endOfAdminToken, isOwn, refuseEscalation } from './grant.ts'
import { countInUse, storeToken } from './issue.ts'
import type { AgentStanding, GrantToken, IssuedToken, TokenPorts } from './ports.ts'
import { inOrder, mayRotate, overlapEnd, overlaps, stateOf, tierLimits } from './rules.ts'

const notFound = () => new Problem('not_found', 'There is no such token, or it is not yours.')

const sooner = (one: Date | null, other: Date): Date => (one && one < other ? one : other)

const shown = (made: IssuedToken, agentId: string, name: string | null) => ({
  id: made.id,
  agent_id: agentId,
  api_key: made.key,
  key_prefix: made.prefix,
  name,
  scopes: made.scopes,
  created_at: made.createdAt.toISOString(),
  expires_at: made.expiresAt?.toISOString() ?? null,
  issued_by_admin: made.issuedByAdmin,
})

/** Creates, rotates and revokes tokens. Each operation locks the agent's row first, so that token counts are exact. */
export function tokenManagement({
  agentOf,
  grant,
  notify,
}: Pick<TokenPorts, 'agentOf' | 'notify'> & { grant: GrantToken }) {
  /** Whether an admin is issuing the token for an agent that they do not own. */
  const byAdmin = ({ actor }: MutationContext, agent: AgentStanding): boolean => actor.isAdmin && !isOwn(actor, agent)
  /** Such a token can read the private units of the agent's owner, so the owner is notified. */
  async function tellOwner(ctx: MutationContext, agent: AgentStanding, { prefix }: IssuedToken): Promise<void> {
    if (byAdmin(ctx, agent) && agent.ownerId !== null)
      await notify(ctx.tx, { kind: 'token-issued', accountId: agent.ownerId, keyPrefix: prefix })
  }
  /** Returns the locked agent if the actor may manage it; agents of others look nonexistent. */
  async function managed(ctx: MutationContext, agentId: string): Promise<AgentStanding | null> {
    const agent = await agentOf(ctx.tx, agentId, { lock: true })
    return agent && (ctx.actor.isAdmin || isOwn(ctx.actor, agent)) ? agent : null
  }
  async function held(ctx: MutationContext, where: { id: string } | { prefix: string }) {
    const found = await ctx.tx.token.findUnique({ where, select: { id: true, agentId: true } })
    const agent = found && (await managed(ctx, found.agentId))
    // Read again: other changes to the agent's tokens are only blocked since the agent was locked.
    const token = agent && (await ctx.tx.token.findUnique({ where: { id: found.id } }))
    if (!token) throw notFound()
    return { agent, token }
  }
  async function revoke(ctx: MutationContext, where: { id: string } | { prefix: string }) {
    const { agent, token } = await held(ctx, where)
    const revokedReason = isOwn(ctx.actor, agent) ? 'owner' : 'admin'
    const { count } = await ctx.tx.token.updateMany({
      where: { id: token.id, revokedAt: null },
      data: { revokedAt: ctx.now, revokedReason },
    })
    return { agent, token, revokedAt: token.revokedAt ?? ctx.now, changed: count === 1 }
  }
  /** Id of the agent to issue the token for: the requested one, or the actor's only agent. */
  function targetOf({ actor }: MutationContext, agentId: string | undefined): string {
    if (agentId !== undefined) return agentId
    const [only, ...others] = actor.agents
    if (only !== undefined && others.length === 0) return only
    throw invalid(['agent_id'], 'says for which of your agents')
  }

  return {
    create: mutation(createToken, async (ctx, { body }) => {
      const agent = await managed(ctx, targetOf(ctx, body.agent_id))
      if (!agent) throw new Problem('not_found', 'There is no such agent, or it is not yours.')
      if (body.expires_at && body.expires_at <= ctx.now) throw invalid(['expires_at'], 'lies in the past')
      const expiresAt =
        body.expires_at ??
        (body.expires_in_days === undefined
          ? undefined
          : new Date(ctx.now.getTime() + body.expires_in_days * 86_400_000))
      const name = body.name ?? null
      const made = await grant(ctx, {
        ...{ agentId: agent.id, scopes: body.scopes ?? ['read'], name, expiresAt },
        issuedByAdmin: byAdmin(ctx, agent),
      })
      await tellOwner(ctx, agent, made)
      return {
        body: {
          data: shown(made, agent.id, name),
          message: 'Keep the key: it is shown this once and cannot be read again.',
        },
        resourceId: made.id,
        details: { agent_id: agent.id, scopes: made.scopes, expires: made.expiresAt !== null },
      }
    }),

    rotate: mutation(rotateToken, async (ctx, { params, body }) => {
      const { agent, token: old } = await held(ctx, params)
      const state = stateOf(old, ctx.now)
      if (state !== 'active')
        throw new Problem(
          'conflict',
          `This token is ${state}; only an active one can be rotated. Create a token instead.`,
        )
      const scopes = inOrder(old.scopes)
      // Tokens issued by earlier versions may live longer; their successors must not.
      const expiresAt = scopes.includes('admin') ? sooner(old.expiresAt, endOfAdminToken(ctx)) : old.expiresAt
      await refuseEscalation(ctx, { scopes, expiresAt })
      const overlap = overlaps[body.overlap]
      if (!mayRotate(await countInUse(ctx.tx, agent.id, ctx.now), agent.tier, overlap))
        throw new Problem(
          'conflict',
          `More than ${tierLimits[agent.tier].tokens} tokens of this agent are active already. Rotate without overlap, or revoke one.`,
        )
      await ctx.tx.token.update({
        where: { id: old.id },
        data:
          overlap === 0
            ? { revokedAt: ctx.now, revokedReason: 'rotation' }
            : { expiresAt: overlapEnd(old.expiresAt, overlap, ctx.now), revokedReason: 'rotation' },
      })
      const made = await storeToken(ctx.tx, {
        agentId: agent.id,
        scopes,
        name: old.name,
        expiresAt,
        issuedByAdmin: byAdmin(ctx, agent),
        limitKey: old.limitKey,
        now: ctx.now,
      })
      await tellOwner(ctx, agent, made)
      return {
        body: {
          data: shown(made, agent.id, old.name),
          message: `Keep the key: it is shown this once. The old one ${overlap === 0 ? 'is revoked' : `works for ${body.overlap} more`}.`,
        },
        resourceId: old.id,
        details: { agent_id: agent.id, rotated_to: made.id, overlap: body.overlap },
      }
    }),

    revoke: mutation(revokeToken, async (ctx, { params }) => {
      const { agent, token, changed } = await revoke(ctx, params)
      return { body: undefined, resourceId: token.id, details: { agent_id: agent.id, changed } }
    }),

    revokeByPrefix: mutation(revokeByPrefix, async (ctx, { body }) => {
      const { agent, token, revokedAt, changed } = await revoke(ctx, { prefix: body.key_prefix })
      return {
        body: {
          data: { id: token.id, key_prefix: token.prefix, revoked: true as const, revoked_at: revokedAt.toISOString() },
          message: changed ? 'The token is revoked and refused from now on.' : 'The token was revoked before.',
        },
        resourceId: token.id,
        details: { agent_id: agent.id, changed, fields: ['revoked_at'] },
      }
    }),
  }
}
