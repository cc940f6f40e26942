import type { PipelinePorts } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lockFamilies, revokeDescendants } from './lifecycle/lineage.ts'
import { countResidue, deleteTokens, inventoryOfTokens, lockTokens } from './repository.ts'

/** Tokens with their rate limit refusals and usage counts, which are deleted together with the token. */
export const tokenDataSource = (db: Database, pipeline: Pick<PipelinePorts, 'clock' | 'auditWithin'>): DataSource => ({
  name: 'tokens',
  store: 'postgresql',
  stage: 'agent',
  what: 'tokens, hourly counts of their use, and evidence of requests above their limits',
  purpose: 'to identify agents and their use, and to stop a token that exceeds its limits',
  kept: 'as long as the agent exists; ended tokens and use counts for 90 days, evidence of rejected requests for 7 days',
  tables: ['tokens', 'rate_limit_refusals', 'token_usage'],
  async inventory({ agents }) {
    const [row] = await inventoryOfTokens(db, { agents })
    return { count: 0, since: null, ...row, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const records = await tx.token.findMany({
      where: { agentId: { in: [...scope.subject.agents] } },
      select: { id: true },
      orderBy: { id: 'asc' },
    })
    return { items: records.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    // A deleted token is no longer an issuer, so the tokens of other agents that were created with it end now.
    const now = pipeline.clock.now()
    const own: readonly string[] = 'subject' in scope ? scope.subject.agents : []
    const outside = (await lockFamilies(tx, items, now)).filter(({ agentId }) => !own.includes(agentId))
    await revokeDescendants(tx, pipeline.auditWithin, outside, { now, actorId: 'system:erasure', ip: '' })
    await lockTokens(tx, { ids: items })
    return deleteTokens(tx, { ids: items })
  },
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const [row] = await countResidue(db, { agents: scope.subject.agents, tokens: items })
    return row?.n ?? 0
  },
})
