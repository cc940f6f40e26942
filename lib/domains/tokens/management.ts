import type { MutationContext } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { createToken, revokeByPrefix, revokeToken, rotateToken } from './contract.ts'
import { endOfAdminToken, isOwn, refuseEscalation } from './grant.ts'
import { countInUse, storeToken } from './issue.ts'
import { descendsFrom, lockFamilies, lockIssuer, passOn, revokeDescendants } from './lineage.ts'
import type { GrantToken, NewToken, TokenAgentStatus, TokenPorts } from './ports.ts'
import { mayRotate, overlapEnd, overlaps, tierLimits, tokenScopesInOrder, tokenStateOf } from './rules.ts'

const notFound = () => new Problem('not_found', 'There is no such token, or it is not yours.')

const sooner = <D extends Date | null>(one: Date | null, other: D): Date | D =>
  one && (other === null || one < other) ? one : other

const shown = (made: NewToken, agentId: string, name: string | null) => ({
  id: made.id,
  agent_id: agentId,
  api_key: made.key,
  key_prefix: made.prefix,
  name,
  scopes: made.scopes,
  created_at: made.createdAt.toISOString(),
  expires_at: made.expiresAt?.toISOString() ?? null,
  issued_by_admin: made.issuedByAdmin,
  issued_by_token_id: made.issuedByTokenId,
})

interface StoredToken {
  id: string
  limitKey: string
  revokedReason: string | null
}

/** Creates, rotates and revokes tokens. Each operation locks the agent's row first, so that token counts are exact. */
export function tokenManagement({
  agentOf,
  pipeline,
  grant,
  notify,
}: Pick<TokenPorts, 'agentOf' | 'pipeline' | 'notify'> & { grant: GrantToken }) {
  /** Whether an admin is issuing the token for an agent that they do not own. */
  const byAdmin = ({ actor }: MutationContext, agent: TokenAgentStatus): boolean =>
    actor.isAdmin && !isOwn(actor, agent)
  /** Such a token can read the private units of the agent's owner, so the owner is notified. */
  async function tellOwner(ctx: MutationContext, agent: TokenAgentStatus, { prefix }: NewToken): Promise<void> {
    if (byAdmin(ctx, agent) && agent.ownerId !== null)
      await notify(ctx.tx, { kind: 'token-issued', accountId: agent.ownerId, keyPrefix: prefix })
  }
  /** Returns the locked agent if the actor may manage it; agents of others look nonexistent. */
  async function managed(ctx: MutationContext, agentId: string): Promise<TokenAgentStatus | null> {
    const agent = await agentOf(ctx.tx, agentId, { lock: true })
    return agent && (ctx.actor.isAdmin || isOwn(ctx.actor, agent)) ? agent : null
  }
  async function held(ctx: MutationContext, where: { id: string } | { prefix: string }) {
    const record = await ctx.tx.token.findUnique({ where, select: { id: true, agentId: true } })
    const agent = record && (await managed(ctx, record.agentId))
    // Read again: other changes to the agent's tokens are only blocked since the agent was locked.
    const token = agent && (await ctx.tx.token.findUnique({ where: { id: record.id } }))
    if (!token) throw notFound()
    return { agent, token }
  }
  /** Revokes the token and the active tokens that were created with it, directly or through others. */
  async function revoke(ctx: MutationContext, where: { id: string } | { prefix: string }) {
    const { tx, now, actor, ip } = ctx
    const { agent, token } = await held(ctx, where)
    const family = await lockFamilies(tx, [token.id], now)
    const revokedReason = isOwn(actor, agent) ? 'owner' : 'admin'
    const { count } = await tx.token.updateMany({
      where: { id: token.id, revokedAt: null },
      data: { revokedAt: now, revokedReason },
    })
    const changed = count === 1
    const descendants = await revokeDescendants(tx, pipeline.auditWithin, family, { now, actorId: actor.id, ip })
    const details = {
      agent_id: agent.id,
      changed: changed || descendants.length > 0,
      ...(descendants.length > 0 && { descendants: descendants.length }),
    }
    return { token, revokedAt: token.revokedAt ?? now, changed, descendants: descendants.length, details }
  }
  /** The newest active successor of a token that was rotated. A leaked key can have been used to rotate the token itself. */
  async function successorOf({ tx, now }: MutationContext, { id, limitKey, revokedReason }: StoredToken) {
    if (revokedReason !== 'rotation') return null
    return tx.token.findFirst({
      where: { limitKey, id: { not: id }, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      select: { prefix: true },
    })
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
        details: {
          ...{ agent_id: agent.id, scopes: made.scopes, expires: made.expiresAt !== null },
          ...(made.issuedByTokenId !== null && { issued_by: made.issuedByTokenId }),
        },
      }
    }),

    rotate: mutation(rotateToken, async (ctx, { params, body }) => {
      const { agent, token } = await held(ctx, params)
      const issuer = await lockIssuer(ctx, token.id)
      // Read again: the revocation of a token of another agent does not lock this agent.
      const old = await ctx.tx.token.findUnique({ where: { id: token.id } })
      if (!old) throw notFound()
      const state = tokenStateOf(old, ctx.now)
      if (state !== 'active')
        throw new Problem(
          'conflict',
          `This token is ${state}; only an active one can be rotated. Create a token instead.`,
        )
      const scopes = tokenScopesInOrder(old.scopes)
      // Tokens issued by earlier versions may live longer; their successors must not.
      const expiresAt = scopes.includes('admin')
        ? sooner(old.expiresAt, endOfAdminToken(ctx))
        : // The successor must not outlive the admin's token that creates it.
          sooner(old.expiresAt, (ctx.actor.isAdmin && issuer?.expiresAt) || null)
      refuseEscalation(ctx, issuer, { scopes, expiresAt })
      // A token that replaces itself keeps its issuer. Another token knows the new key, so it becomes the issuer.
      const isByAnother = issuer !== null && issuer.id !== old.id
      if (isByAnother && (await descendsFrom(ctx.tx, issuer.id, old.id)))
        throw new Problem(
          'forbidden',
          'This token was created with the one that it would replace. Rotate that one with itself, or in the console. Nothing was changed.',
        )
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
        issuedByTokenId: isByAnother ? issuer.id : old.issuedByTokenId,
        limitKey: old.limitKey,
        now: ctx.now,
      })
      await passOn(ctx.tx, old.id, made.id)
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
      const { token, details } = await revoke(ctx, params)
      return { body: undefined, resourceId: token.id, details }
    }),

    revokeByPrefix: mutation(revokeByPrefix, async (ctx, { body }) => {
      const { token, revokedAt, changed, descendants, details } = await revoke(ctx, { prefix: body.key_prefix })
      const successor = await successorOf(ctx, token)
      const message = [
        changed ? 'The token is revoked and refused from now on.' : 'The token was revoked before.',
        ...(descendants > 0 ? [`So are tokens that were created with it: ${descendants}.`] : []),
        ...(successor
          ? [`It was replaced by ${successor.prefix}, which still works. If the key leaked, revoke that one as well.`]
          : []),
      ].join(' ')
      return {
        body: {
          data: {
            ...{ id: token.id, key_prefix: token.prefix, revoked: true as const, revoked_at: revokedAt.toISOString() },
            revoked_descendants: descendants,
          },
          message,
        },
        resourceId: token.id,
        details: { ...details, fields: ['revoked_at'] },
      }
    }),
  }
}
