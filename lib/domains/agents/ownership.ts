import type { TierName } from '#lib/domains/tokens/rules.ts'
import { encodeCursor, placeOf } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { claimAgent, listOwnAgents } from './contract.ts'
import type { AgentPorts } from './ports.ts'
import { agentOf } from './rows.ts'
import { sharedStanding } from './standing.ts'

interface OwnRow {
  id: string
  name: string | null
  tier: TierName
  created_at: Date
  restricted_at: Date | null
}
const selectOwn = `SELECT id, name, tier, created_at, restricted_at FROM agents
  WHERE owner_id = $1 AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
  ORDER BY created_at DESC, id DESC LIMIT $4`

/** People and the agents that are theirs. */
export function agentOwnership(
  db: Database,
  {
    tokens,
    ownerFound,
    dropOrganisationIfEmpty,
    ...owners
  }: Pick<AgentPorts, 'tokens' | 'ownerFound' | 'dropOrganisationIfEmpty' | 'accounts' | 'graceTokens'>,
) {
  return {
    claim: mutation(claimAgent, async ({ tx, actor, now }, { body }) => {
      const { accountId, organisationId } = actor
      if (accountId === undefined || organisationId === undefined) throw new Problem('sign_in_needed')
      const bearer = await tokens.bearerOf(tx, body.token, now)
      const agent = bearer && (await agentOf(tx, bearer.agentId, { lock: true }))
      // Unknown, mistyped, expired, revoked, suspended: all the same, so that nothing is told about a token to who only guesses.
      if (!agent || agent.suspendedAt)
        throw new Problem('not_found', 'No agent is known by this token. Check that it is whole, and still works.')
      const done = (changed: boolean) => ({
        body: { data: { agent_id: agent.id, name: agent.name } },
        resourceId: agent.id,
        details: { fields: changed ? ['owner', 'organisation'] : [] },
      })
      if (agent.ownerId === accountId) return done(false)
      if (agent.ownerId !== null) throw new Problem('conflict', 'This agent belongs to somebody else already.')
      const lacking = (await tokens.scopesInUse(tx, agent.id, now)).find((scope) => !bearer.scopes.includes(scope))
      if (lacking)
        throw new Problem(
          'forbidden',
          `Another token of this agent has the scope "${lacking}", which this one lacks. Claim it with that one.`,
        )
      // What the agent contributed follows by its foreign key.
      await tx.agent.update({
        where: { id: agent.id },
        data: { ownerId: accountId, organisationId, ...(await sharedStanding(tx, owners, accountId, agent, now)) },
      })
      await ownerFound(tx, agent.id, accountId)
      if (agent.organisationId !== organisationId) await dropOrganisationIfEmpty(tx, agent.organisationId)
      return done(true)
    }),

    listOwn: read(listOwnAgents, async ({ actor }, { query: { cursor, limit } }) => {
      const after = placeOf(cursor)
      const [found, [count]] = await Promise.all([
        db.query<OwnRow>('agent-own-page', selectOwn, [
          actor.accountId,
          after?.at ?? null,
          after?.id ?? null,
          limit + 1,
        ]),
        db.query<{ n: number }>('agent-own-count', 'SELECT count(*)::int AS n FROM agents WHERE owner_id = $1', [
          actor.accountId,
        ]),
      ])
      const page = found.slice(0, limit)
      const last = found.length > limit ? page.at(-1) : undefined
      return {
        body: {
          data: page.map((row) => ({
            agent_id: row.id,
            name: row.name,
            tier: row.tier,
            created_at: row.created_at.toISOString(),
            restricted_at: row.restricted_at?.toISOString() ?? null,
          })),
          total: count?.n ?? 0,
          offset: 0,
          limit,
          next_cursor: last ? encodeCursor(last.created_at, last.id) : null,
        },
        resourceId: actor.id,
        details: { count: page.length },
      }
    }),
  }
}
