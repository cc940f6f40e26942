import { statement, typed } from '#lib/stores/postgres/statement.ts'

/**
 * The newest acts of people, with the current names of the actor and of an account or agent that is the resource. Leaves out reads, and
 * sign-ins, sign-outs and confirmed passwords, which change only a session. Looks at the newest `looked` entries only, because no index
 * leaves out reads.
 */
export const newestActs = statement('audit.newest-acts', {
  takes: { from: 'timestamptz', looked: 'int4', limit: 'int4' },
  returns: {
    ...{ id: 'uuid', at: 'timestamptz', action: 'text', actor_id: 'text', actor_name: 'text?' },
    ...{ resource_type: 'text', resource_id: 'text', resource_name: 'text?' },
    details: typed<Record<string, unknown>>('jsonb'),
  },
  sql: `SELECT e.id, e.at, e.action, e.agent_id AS actor_id, a.name AS actor_name, e.resource_type, e.resource_id,
      coalesce(account.name, agent.name) AS resource_name, e.details
    FROM (SELECT id, at, action, agent_id, resource_type, resource_id, details FROM audit_entries WHERE at > $from
      ORDER BY at DESC, id DESC LIMIT $looked) AS e
    LEFT JOIN account_names a ON a.id = substr(e.agent_id, 6)
    LEFT JOIN account_names account ON account.id = e.resource_id
    LEFT JOIN agent_names agent ON agent.id = e.resource_id
    WHERE e.action NOT IN ('read', 'validate') AND starts_with(e.agent_id, 'user:')
      AND NOT (e.action = 'update' AND e.resource_type = 'session')
    ORDER BY e.at DESC, e.id DESC LIMIT $limit`,
})
