import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

/** Exports the agent's own row: its name, consent and settings. */
export const agentExporters = (db: Database): Exporter[] => [
  {
    part: 'agent',
    isShared: true,
    bases: ['provided', 'all'],
    tables: ['agents'],
    pages: (agentId, { basis }) =>
      recordPages(db, {
        from: 'agents a',
        where: 'a.id = $1',
        values: [agentId],
        at: 'a.created_at',
        id: 'a.id',
        columns: 'a.*',
        record: jsonObject({
          agent_id: 'c.id',
          name: 'c.name',
          consent_at: utc('c.consent_at'),
          consent_via: 'c.consent_via',
          consent_withdrawn_at: utc('c.consent_withdrawn_at'),
          created_at: utc('c.created_at'),
          region: 'c.region',
          self_hosted: 'c.self_hosted',
          grimoire_days: 'c.grimoire_days',
          ...(basis === 'all' && {
            lawful_basis: 'c.lawful_basis',
            notice_version: 'c.notice_version',
            organisation_id: 'c.organisation_id',
            owner: "'user:' || c.owner_id",
            tier: 'c.tier',
            reads_per_minute: 'c.reads_per_minute',
            writes_per_minute: 'c.writes_per_minute',
            restricted_at: utc('c.restricted_at'),
            restricted_for: 'c.restricted_for',
            suspended_at: utc('c.suspended_at'),
            first_used_at: utc('c.first_used_at'),
            status: 'c.status',
            status_at: utc('c.status_at'),
            died_at: utc('c.died_at'),
            sharing_since: utc('c.sharing_since'),
            clade_id: 'c.clade_id',
          }),
        }),
      }),
  },
]
