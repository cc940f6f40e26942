import type { PipelinePorts } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { lockFamilies, revokeDescendants } from './lineage.ts'
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

/** Exports an agent's tokens (never keys or hashes), their usage and their rate limit refusals. */
export const tokenExporters = (db: Database): Exporter[] => [
  {
    part: 'tokens',
    isShared: true,
    bases: ['all'],
    tables: ['tokens'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'tokens t',
        where: 't.agent_id = $1 AND t.created_at <= $2',
        values: [agentId, until],
        at: 't.created_at',
        id: 't.id',
        columns:
          't.id, t.prefix, t.name, t.scopes, t.created_at, t.expires_at, t.last_used_at, t.revoked_at, t.revoked_reason, t.issued_by_admin, t.issued_by_token_id',
        record: jsonObject({
          id: 'c.id',
          prefix: 'c.prefix',
          name: 'c.name',
          scopes: 'c.scopes',
          created_at: utc('c.created_at'),
          expires_at: utc('c.expires_at'),
          last_used_at: utc('c.last_used_at'),
          revoked_at: utc('c.revoked_at'),
          revoked_reason: 'c.revoked_reason',
          issued_by_admin: 'c.issued_by_admin',
          issued_by_token_id: 'c.issued_by_token_id',
        }),
      }),
  },
  {
    part: 'token_usage',
    isShared: true,
    bases: ['all'],
    tables: ['token_usage'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'token_usage u JOIN tokens t ON t.id = u.token_id',
        where: 't.agent_id = $1 AND u.hour <= $2',
        values: [agentId, until],
        at: 'u.hour',
        id: 'u.token_id',
        columns: 'u.token_id, u.hour, u.reads, u.writes, u.refused',
        record: jsonObject({
          token_id: 'c.token_id',
          hour: utc('c.hour'),
          reads: 'c.reads',
          writes: 'c.writes',
          refused: 'c.refused',
        }),
      }),
  },
  {
    part: 'rate_limit_refusals',
    isShared: true,
    bases: ['all'],
    tables: ['rate_limit_refusals'],
    pages: (agentId, { until, id, isAdmin }) =>
      recordPages(db, {
        from: 'rate_limit_refusals f JOIN tokens t ON t.id = f.token_id',
        where: 't.agent_id = $1 AND f.at <= $2',
        values: [agentId, until],
        at: 'f.at',
        id: 'f.id',
        columns: 'f.token_id, f.at, f.request_class, f.limit, f.consumed, f.ip',
        record: jsonObject({
          token_id: 'c.token_id',
          at: utc('c.at'),
          request_class: 'c.request_class',
          limit: 'c."limit"',
          consumed: 'c.consumed',
          // A later owner must not see an earlier user's network address.
          ...((id === agentId || isAdmin) && { ip: 'c.ip' }),
        }),
      }),
  },
]
