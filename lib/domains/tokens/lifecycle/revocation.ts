import type { MutationContext } from '#lib/kernel/context.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { revokeByPrefix, revokeToken } from '../contract.ts'
import { isOwn } from './grant.ts'
import { lockFamilies, revokeDescendants } from './lineage.ts'
import { type ManagementDeps, managedToken } from './managed-token.ts'

interface StoredToken {
  id: string
  limitKey: string
  revokedReason: string | null
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

/** Revokes the token and the active tokens that were created with it, directly or through others. */
async function revoke(deps: ManagementDeps, ctx: MutationContext, where: { id: string } | { prefix: string }) {
  const { tx, now, actor, ip } = ctx
  const { agent, token } = await managedToken(deps, ctx, where)
  const family = await lockFamilies(tx, [token.id], now)
  const { count } = await tx.token.updateMany({
    where: { id: token.id, revokedAt: null },
    data: { revokedAt: now, revokedReason: isOwn(actor, agent) ? 'owner' : 'admin' },
  })
  const changed = count === 1
  const { auditWithin } = deps.pipeline
  const descendants = await revokeDescendants(tx, auditWithin, family, { now, actorId: actor.id, ip })
  const details = {
    agent_id: agent.id,
    changed: changed || descendants.length > 0,
    ...(descendants.length > 0 && { descendants: descendants.length }),
  }
  return { token, revokedAt: token.revokedAt ?? now, changed, descendants: descendants.length, details }
}

/** Revokes tokens by id or by the prefix of their key. */
export const tokenRevocation = (deps: ManagementDeps) => ({
  revoke: mutation(revokeToken, async (ctx, { params }) => {
    const { token, details } = await revoke(deps, ctx, params)
    return { body: undefined, resourceId: token.id, details }
  }),

  revokeByPrefix: mutation(revokeByPrefix, async (ctx, { body }) => {
    const { token, revokedAt, changed, descendants, details } = await revoke(deps, ctx, { prefix: body.key_prefix })
    const successor = await successorOf(ctx, token)
    const message = [
      changed ? 'The token is revoked.' : 'The token was already revoked.',
      ...(descendants > 0 ? [`Tokens that were created with it are also revoked: ${descendants}.`] : []),
      ...(successor
        ? [`Its successor ${successor.prefix} is still active. If the key leaked, also revoke the successor.`]
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
})
