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
  /** When the exceeded window ends. It identifies the window: all its requests have the same end, on every replica. */
  windowEnds: Date
}

/** The number of windows that a process remembers as counted. */
const mostRemembered = 10_000

/**
 * Stores a 429 response as evidence, once per rate-limit window: a burst of parallel requests is one refusal. The third one within an hour for
 * tokens with the same limit key revokes all active tokens with that key, and those created with them, in the same transaction. Returns
 * true if tokens were revoked. Returns false if the database is unavailable: the 429 is still sent.
 */
export function refusalRecorder(
  db: Database,
  { pipeline, agentOf, notify }: Pick<TokenPorts, 'pipeline' | 'agentOf' | 'notify'>,
) {
  const keep = ({ tokenId, requestClass, limit, consumed, ip, windowEnds }: TokenRefusal): Promise<boolean> =>
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
      if ((await tx.rateLimitRefusal.count({ where: { limitKey, requestClass, windowEnds } })) > 0) return false
      await tx.rateLimitRefusal.create({
        data: { id: newId('rlr'), tokenId, limitKey, at: now, requestClass, limit, consumed, ip, windowEnds },
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

  /** The last counted window by token and class, oldest first. Further 429s of the window need no transaction. */
  const counted = new Map<string, number>()
  return async (refusal: TokenRefusal): Promise<boolean> => {
    const key = `${refusal.tokenId}:${refusal.requestClass}`
    const windowEnds = refusal.windowEnds.getTime()
    if (counted.get(key) === windowEnds) return false
    try {
      const isRevoked = await keep(refusal)
      counted.delete(key)
      counted.set(key, windowEnds)
      for (const oldest of counted.keys()) if (counted.size > mostRemembered) counted.delete(oldest)
      return isRevoked
    } catch (error) {
      if (Problem.is(error, 'unavailable')) return false
      throw error
    }
  }
}
