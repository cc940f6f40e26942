import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { TokenPorts } from '../ports.ts'
import { countsSince, refusalsToRevoke } from '../rules.ts'
import { lockFamilies, revokeDescendants } from './lineage.ts'

export interface TokenRefusal {
  tokenId: string
  requestClass: 'read' | 'write'
  limit: number
  consumed: number
  ip: string
}

/**
 * Stores a 429 response as evidence. The third one within an hour for tokens with the same limit key revokes all active tokens with that
 * key, and those created with them, in the same transaction. Returns true if tokens were revoked. Returns false if the database is unavailable: the 429 is still sent.
 */
export function refusalRecorder(
  db: Database,
  { pipeline, agentOf, notify }: Pick<TokenPorts, 'pipeline' | 'agentOf' | 'notify'>,
) {
  const keep = ({ tokenId, requestClass, limit, consumed, ip }: TokenRefusal): Promise<boolean> =>
    db.transaction(async (tx) => {
      const token = await tx.token.findUnique({ where: { id: tokenId }, select: { agentId: true, limitKey: true } })
      // Locking the agent serializes refusals: each is counted and none is stored after the revocation. It also blocks rotations, whose new
      // token would otherwise escape the revocation.
      const agent = token && (await agentOf(tx, token.agentId, { lock: true }))
      if (!agent) return false
      const { limitKey } = token
      const now = pipeline.clock.now()
      const sharing = await tx.token.findMany({
        where: { limitKey, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
        select: { id: true },
      })
      const family = await lockFamilies(
        tx,
        sharing.map(({ id }) => id),
        now,
      )
      const active = family.filter(({ id, root, isActive }) => id === root && isActive)
      if (active.length === 0) return false
      await tx.rateLimitRefusal.create({
        data: { id: newId('rlr'), tokenId, limitKey, at: now, requestClass, limit, consumed, ip },
      })
      const refusals = await tx.rateLimitRefusal.count({ where: { limitKey, at: { gt: countsSince(now) } } })
      if (refusals < refusalsToRevoke) return false
      await tx.token.updateMany({
        where: { id: { in: active.map(({ id }) => id) } },
        data: { revokedAt: now, revokedReason: 'rate_limit' },
      })
      const actorId = 'system:rate-limit'
      const descendants = await revokeDescendants(tx, pipeline.auditWithin, family, { now, actorId, ip })
      const evidence = { agent_id: agent.id, received_by: tokenId, refusals, limit, consumed, class: requestClass }
      for (const { id, prefix } of active) {
        await pipeline.auditWithin(tx, {
          action: 'update',
          actorId,
          resourceType: 'token',
          resourceId: id,
          at: now,
          ip,
          details: { ...evidence, fields: ['revoked_at'] },
        })
        const ended = descendants.filter(({ root }) => root === id).length
        if (agent.ownerId)
          await notify(tx, {
            kind: 'token-revoked',
            accountId: agent.ownerId,
            keyPrefix: prefix,
            ...(ended > 0 && { descendants: ended }),
          })
      }
      return true
    })

  return async (refusal: TokenRefusal): Promise<boolean> => {
    try {
      return await keep(refusal)
    } catch (error) {
      if (Problem.is(error, 'unavailable')) return false
      throw error
    }
  }
}
