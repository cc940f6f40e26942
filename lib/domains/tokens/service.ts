import { hashOf } from '#lib/kernel/code-hash.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { endOfAdminToken, tokenGrant } from './grant.ts'
import { tokenIssue } from './issue.ts'
import { tokenManagement } from './management.ts'
import { tokenOverview } from './overview.ts'
import type { TokenPorts } from './ports.ts'
import { refusalKeeper } from './refusals.ts'
import { inOrder, isKey, type Scope } from './rules.ts'
import { tokenUse } from './usage.ts'

const countWorking = `SELECT agent_id, count(*)::int AS n FROM tokens
  WHERE agent_id = ANY($1::text[]) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) GROUP BY agent_id`

/** Tokens: whose they are, what they may, and when they end. */
export function tokensService(db: Database, ports: TokenPorts) {
  const issue = tokenIssue(ports)
  const grant = tokenGrant(issue)
  return {
    ...tokenOverview(db, ports),
    ...tokenManagement({ ...ports, grant }),
    issue,
    grant,
    endOfAdminToken,
    keepRefusal: refusalKeeper(db, ports),
    use: tokenUse(db, ports.gate.clock),

    /** The agent that a key which works now belongs to; null for every other text. Which tokens it has, it does not tell. */
    async bearerOf(tx: Transaction, key: string, now: Date): Promise<{ agentId: string; scopes: Scope[] } | null> {
      if (!isKey(key)) return null
      const token = await tx.token.findFirst({
        where: { hash: hashOf(key), revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
        select: { agentId: true, scopes: true },
      })
      return token && { agentId: token.agentId, scopes: inOrder(token.scopes) }
    },
    /**
     * Revokes every token of the agents that has the scope and works now; how many. Each agent is locked first, as for every change of its
     * tokens, so that none escapes by a rotation at the same moment.
     */
    async revokeScoped(
      { tx, actor, ip, now }: MutationContext,
      agents: readonly string[],
      scope: Scope,
      reason: 'owner_role' | 'owner_closed',
    ): Promise<number> {
      for (const id of [...agents].sort()) await ports.agentOf(tx, id, { lock: true })
      const revoked = await tx.token.updateManyAndReturn({
        where: {
          agentId: { in: [...agents] },
          scopes: { has: scope },
          revokedAt: null,
          OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
        },
        data: { revokedAt: now, revokedReason: reason },
        select: { id: true, agentId: true },
      })
      await ports.gate.auditWithin(
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
      return revoked.length
    },
    /** How many tokens of each agent work now. */
    async inUse(agents: readonly string[], now: Date): Promise<ReadonlyMap<string, number>> {
      const counted = await db.query<{ agent_id: string; n: number }>('tokens-in-use', countWorking, [agents, now])
      return new Map(counted.map(({ agent_id, n }) => [agent_id, n]))
    },
    /** Every scope that tokens of the agent which work now have between them. */
    async scopesInUse(tx: Transaction, agentId: string, now: Date): Promise<Scope[]> {
      const tokens = await tx.token.findMany({
        where: { agentId, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
        select: { scopes: true },
      })
      return inOrder(tokens.flatMap(({ scopes }) => scopes))
    },
  }
}
