import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { heartbeatRecords } from './heartbeats.ts'

/** Exports an agent's documents, heartbeats and blockchain references. */
export const lifeExporters = (db: Database): Exporter[] => [
  {
    part: 'agent_documents',
    bases: ['provided', 'all'],
    tables: ['agent_documents'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'agent_documents d',
        where: 'd.agent_id = $1 AND d.created_at <= $2',
        values: [agentId, until],
        at: 'd.created_at',
        id: 'd.id',
        columns: 'd.id, d.kind, d.title, d.body, d.revision, d.created_at, d.updated_at',
        record: jsonObject({
          id: 'c.id',
          kind: 'c.kind',
          title: 'c.title',
          body: 'c.body',
          revision: 'c.revision',
          created_at: utc('c.created_at'),
          updated_at: utc('c.updated_at'),
        }),
        weight: 'pg_column_size(d.body)',
      }),
  },
  {
    part: 'heartbeats',
    bases: ['provided', 'all'],
    tables: ['heartbeats'],
    pages: (agentId, { until }) => heartbeatRecords(db, agentId, until),
  },
  {
    part: 'chain_references',
    bases: ['provided', 'all'],
    tables: ['chain_references'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'chain_references r',
        where: 'r.agent_id = $1 AND r.reported_at <= $2',
        values: [agentId, until],
        at: 'r.reported_at',
        id: 'r.id',
        columns: 'r.id, r.chain, r.kind, r.reference, r.reported_at',
        record: jsonObject({
          id: 'c.id',
          chain: 'c.chain',
          kind: 'c.kind',
          reference: 'c.reference',
          reported_at: utc('c.reported_at'),
          is_permanent: 'true',
        }),
      }),
  },
]
