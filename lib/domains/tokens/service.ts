import { agentOf } from '#lib/domains/agents/queries.ts'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { isTokenKey } from './keys.ts'
import { endOfAdminToken, issueToken, tokenGrant, tokenManagement } from './lifecycle.ts'
import { lockFamilies, refusalRecorder, revokeDescendants } from './lineage.ts'
import { tokenOverview } from './overview.ts'
import type { TokenPorts } from './ports.ts'
import { activeTokensOfAgents } from './repository.ts'
import { type TokenScope, tokenScopesInOrder } from './rules.ts'
import { tokenUse } from './usage.ts'

/** Tokens: issuing, authentication, scopes, rotation and revocation. */
export function tokensService(db: Database, ports: TokenPorts) {
  const grant = tokenGrant(issueToken, ports.requireApproval)
  return {
    ...tokenOverview(db),
    ...tokenManagement({ ...ports, grant }),
    issue: issueToken,
    grant,
    endOfAdminToken,
    keepRefusal: refusalRecorder(db, ports.pipeline),
    use: tokenUse(db, ports.pipeline.clock),

    /**
     * Returns the agent and scopes of an active key, or null for any other text. Does not reveal which token it is. A token that an admin
     * issued for somebody else does not show that its bearer is the agent.
     */
    async bearerOf(tx: Transaction, key: string, now: Date): Promise<{ agentId: string; scopes: TokenScope[] } | null> {
      if (!isTokenKey(key)) return null
      const token = await tx.token.findFirst({
        where: {
          hash: hashOf(key),
          revokedAt: null,
          issuedByAdmin: false,
          OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
        },
        select: { agentId: true, scopes: true },
      })
      return token && { agentId: token.agentId, scopes: tokenScopesInOrder(token.scopes) }
    },
    /**
     * Revokes all active tokens of the agents that have the scope, and those created with them; returns how many. Locks each agent first,
     * so that a concurrent rotation cannot create a token that escapes.
     */
    async revokeScoped(
      { tx, actor, ip, now }: MutationContext,
      agents: readonly string[],
      scope: TokenScope,
      reason: 'owner_role' | 'owner_closed',
    ): Promise<number> {
      for (const id of [...agents].sort()) await agentOf(tx, id, { lock: true })
      const scoped = await tx.token.findMany({
        where: {
          agentId: { in: [...agents] },
          scopes: { has: scope },
          revokedAt: null,
          OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
        },
        select: { id: true },
      })
      const ids = scoped.map(({ id }) => id)
      const family = await lockFamilies(tx, ids, now)
      const revoked = await tx.token.updateManyAndReturn({
        where: { id: { in: ids }, revokedAt: null },
        data: { revokedAt: now, revokedReason: reason },
        select: { id: true, agentId: true },
      })
      await ports.pipeline.auditWithin(
        tx,
        ...revoked.map(({ id, agentId }) => ({
          action: 'update' as const,
          actorId: actor.id,
          resourceType: 'token',
          resourceId: id,
          at: now,
          ip,
          details: { agent_id: agentId, reason, fields: ['revoked_at'] },
        })),
      )
      const { auditWithin } = ports.pipeline
      const descendants = await revokeDescendants(tx, auditWithin, family, { now, actorId: actor.id, ip })
      return revoked.length + descendants.length
    },
    /** Number of active tokens per agent id. */
    async inUse(agents: readonly string[], now: Date): Promise<ReadonlyMap<string, number>> {
      const counted = await activeTokensOfAgents(db, { agents, now })
      return new Map(counted.map(({ agent_id, n }) => [agent_id, n]))
    },
    /** Union of the scopes of the agent's active tokens. */
    async scopesInUse(tx: Transaction, agentId: string, now: Date): Promise<TokenScope[]> {
      const tokens = await tx.token.findMany({
        where: { agentId, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
        select: { scopes: true },
      })
      return tokenScopesInOrder(tokens.flatMap(({ scopes }) => scopes))
    },
  }
}
