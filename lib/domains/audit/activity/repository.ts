import { statement, typed } from '#lib/stores/postgres/statement.ts'

/**
 * The newest entries of people. Leaves out reads, and sign-ins, sign-outs and confirmed passwords, which change only a session. Looks at
 * the newest `looked` entries only, because no index leaves out reads.
 */
export const newestActs = statement('audit.newest-acts', {
  takes: { from: 'timestamptz', looked: 'int4', limit: 'int4' },
  returns: {
    id: 'uuid',
    at: 'timestamptz',
    action: 'text',
    agent_id: 'text',
    resource_type: 'text',
    resource_id: 'text',
    ip: 'text',
    details: typed<Record<string, unknown>>('jsonb'),
    transaction: 'text',
  },
  sql: `SELECT id, at, action, agent_id, resource_type, resource_id, ip, details, transaction
    FROM (SELECT id, at, action, agent_id, resource_type, resource_id, ip, details, xmin::text AS transaction FROM audit_entries WHERE at > $from
      ORDER BY at DESC, id DESC LIMIT $looked) AS e
    WHERE action NOT IN ('read', 'validate') AND starts_with(agent_id, 'user:')
      AND NOT (action = 'update' AND resource_type = 'session')
    ORDER BY at DESC, id DESC LIMIT $limit`,
})
