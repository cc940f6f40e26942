import type { Exporter } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { oldestRead } from './rules.ts'

/** What the agent did, as the log has it; nothing older than 90 days. */
export const auditExporters = (db: Database): Exporter[] => [
  {
    part: 'audit_entries',
    bases: ['all'],
    tables: ['audit_entries'],
    pages: (agentId, { until, id, isAdmin }) =>
      recordPages(db, {
        from: 'audit_entries e',
        where: 'e.agent_id = $1 AND e.at BETWEEN $2 AND $3',
        values: [agentId, oldestRead(until), until],
        at: 'e.at',
        id: 'e.id::text',
        columns: 'e.id, e.at, e.action, e.agent_id, e.resource_type, e.resource_id, e.ip, e.details',
        weight: 'pg_column_size(e.details)',
        record: jsonObject({
          id: 'c.id',
          action: 'c.action',
          agentId: 'c.agent_id',
          resourceType: 'c.resource_type',
          resourceId: 'c.resource_id',
          timestamp: utc('c.at'),
          // The address of an earlier user is not a later owner's to know.
          ip: id === agentId || isAdmin ? 'c.ip' : "''",
          details: 'c.details',
        }),
      }),
  },
]
