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
 * Keeps a 429 as evidence. The third that one token received within one hour revokes it, in the transaction that keeps it; then the
 * result is true. False also when the database is down: the 429 goes out all the same.
 */
export function refusalKeeper(
  db: Database,
  { gate, agentOf, notify }: Pick<TokenPorts, 'gate' | 'agentOf' | 'notify'>,
) {
  const keep = ({ tokenId, requestClass, limit, consumed, ip }: Refusal): Promise<boolean> =>
    db.transaction(async (tx) => {
      // Refusals of one token wait for each other here, so that none is missed in the count and none follows the revocation.
      const [token] = await tx.$queryRaw<{ agent_id: string; prefix: string }[]>`
        SELECT agent_id, prefix FROM tokens WHERE id = ${tokenId} AND revoked_at IS NULL FOR NO KEY UPDATE`
      if (!token) return false
      const now = gate.clock.now()
      await tx.rateLimitRefusal.create({
        data: { id: newId('rlr'), tokenId, at: now, requestClass, limit, consumed, ip },
      })
      const refusals = await tx.rateLimitRefusal.count({ where: { tokenId, at: { gt: countsSince(now) } } })
      if (refusals < refusalsToRevoke) return false
      await tx.token.update({ where: { id: tokenId }, data: { revokedAt: now, revokedReason: 'rate_limit' } })
      await gate.auditWithin(tx, {
        action: 'update',
        actorId: 'system:rate-limit',
        resourceType: 'token',
        resourceId: tokenId,
        at: now,
        ip,
        details: { agent_id: token.agent_id, fields: ['revoked_at'], refusals, limit, consumed, class: requestClass },
      })
      const agent = await agentOf(tx, token.agent_id)
      if (agent?.ownerId) await notify(tx, { kind: 'token-revoked', accountId: agent.ownerId, keyPrefix: token.prefix })
      return true
    })

  return async (refusal: Refusal): Promise<boolean> => {
    try {
      return await keep(refusal)
    } catch (error) {
      if (Problem.is(error) && error.code === 'unavailable') return false
      throw error
    }
  }
}
