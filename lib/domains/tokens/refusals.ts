import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { TokenPorts } from './ports.ts'
import { countsSince, refusalsToRevoke } from './rules.ts'

export interface Refusal {
  tokenId: string
  requestClass: 'read' | 'write'
  limit: number
  consumed: number
  ip: string
}

/**
 * Keeps a 429 as evidence. The third within one hour that a token received, or one that shares its limit key by rotation, revokes all
 * of those that still work, in the transaction that keeps it; then the result is true. False also when the database is down: the 429
 * goes out all the same.
 */
export function refusalKeeper(
  db: Database,
  { gate, agentOf, notify }: Pick<TokenPorts, 'gate' | 'agentOf' | 'notify'>,
) {
  const keep = ({ tokenId, requestClass, limit, consumed, ip }: Refusal): Promise<boolean> =>
    db.transaction(async (tx) => {
      const token = await tx.token.findUnique({ where: { id: tokenId }, select: { agentId: true, limitKey: true } })
      // Like every change of its tokens: refusals wait for each other, so that each is counted and none follows the revocation, and
      // a rotation waits too, or its new token would escape.
      const agent = token && (await agentOf(tx, token.agentId, { lock: true }))
      if (!agent) return false
      const { limitKey } = token
      const now = gate.clock.now()
      // In the order in which uses are written, so that neither locks the other out.
      const working = await tx.$queryRaw<{ id: string; prefix: string }[]>`
        SELECT id, prefix FROM tokens
        WHERE limit_key = ${limitKey} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})
        ORDER BY id COLLATE "C" FOR NO KEY UPDATE`
      if (working.length === 0) return false
      await tx.rateLimitRefusal.create({
        data: { id: newId('rlr'), tokenId, limitKey, at: now, requestClass, limit, consumed, ip },
      })
      const refusals = await tx.rateLimitRefusal.count({ where: { limitKey, at: { gt: countsSince(now) } } })
      if (refusals < refusalsToRevoke) return false
      await tx.token.updateMany({
        where: { id: { in: working.map(({ id }) => id) } },
        data: { revokedAt: now, revokedReason: 'rate_limit' },
      })
      const evidence = { agent_id: agent.id, received_by: tokenId, refusals, limit, consumed, class: requestClass }
      for (const { id, prefix } of working) {
        await gate.auditWithin(tx, {
          action: 'update',
          actorId: 'system:rate-limit',
          resourceType: 'token',
          resourceId: id,
          at: now,
          ip,
          details: { ...evidence, fields: ['revoked_at'] },
        })
        if (agent.ownerId) await notify(tx, { kind: 'token-revoked', accountId: agent.ownerId, keyPrefix: prefix })
      }
      return true
    })

  return async (refusal: Refusal): Promise<boolean> => {
    try {
      return await keep(refusal)
    } catch (error) {
      if (Problem.is(error, 'unavailable')) return false
      throw error
    }
  }
}
