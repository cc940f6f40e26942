import type { PipelinePorts } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lockFamilies, revokeDescendants } from './lineage.ts'

/** Tokens with their rate limit refusals and usage counts, which are deleted together with the token. */
export const tokenDataSource = (db: Database, pipeline: Pick<PipelinePorts, 'clock' | 'auditWithin'>): DataSource => ({
  name: 'tokens',
  store: 'postgresql',
  stage: 'agent',
  what: 'tokens, counts of their use by the hour, and the evidence of requests beyond their limits',
  purpose: 'to know which agent asks and how much, and to stop a token that asks too much',
  kept: 'while the agent is here; an ended token and counts of use for 90 days, evidence of refused requests for 7 days',
  tables: ['tokens', 'rate_limit_refusals', 'token_usage'],
  async inventory({ agents }) {
    const [row] = await db.query<{ n: number; since: Date | null }>(
      'tokens-inventory',
      'SELECT count(*)::int AS n, min(created_at) AS since FROM tokens WHERE agent_id = ANY($1::text[])',
      [agents],
    )
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
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
    // Lock in the same order as usage writes to avoid deadlocks.
    await tx.$queryRaw`SELECT 1 FROM tokens WHERE id = ANY(${[...items]}::text[]) ORDER BY id COLLATE "C" FOR UPDATE`
    return tx.$executeRaw`DELETE FROM tokens WHERE id = ANY(${[...items]}::text[])`
  },
  /**
   * Searches tokens by agent and by id, and also usage and refusals in their own tables. Refusals are also found by the limit key that
   * rotated tokens share.
   */
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const [row] = await db.query<{ n: number }>(
      'tokens-residue',
      `SELECT ((SELECT count(*) FROM tokens WHERE agent_id = ANY($1::text[]))
        + (SELECT count(*) FROM rate_limit_refusals WHERE token_id = ANY($2::text[]))
        + (SELECT count(*) FROM token_usage WHERE token_id = ANY($2::text[]))
        + (SELECT count(*) FROM rate_limit_refusals WHERE limit_key = ANY($2::text[]) AND NOT token_id = ANY($2::text[])))::int AS n`,
      [scope.subject.agents, items],
    )
    return row?.n ?? 0
  },
})
