import type { DataSource, RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Exporter, PersonExporter } from '#lib/kernel/exporter.ts'
import { rowsOfAccount } from '#lib/stores/postgres/account-rows.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { entriesOfActors, savedSearchRows } from './repository.ts'
import { auditDays, oldestRead } from './rules.ts'

/** Saved searches of admins and auditors; an item is a search id. The log itself is a retained record (retained-records.ts). */
export const savedSearchDataSource = (db: Database): DataSource =>
  rowsOfAccount(db, {
    name: 'audit.searches',
    what: 'saved filters of the audit log and other admin pages: their names and values',
    purpose: 'to repeat searches that an admin or auditor needs often',
    kept: 'until the person deletes them or is erased',
    rows: savedSearchRows,
  })

const shape = { part: 'audit_entries', bases: ['all'], tables: ['audit_entries'], isShared: true } as const

/** What an actor did within the last 90 days, from the log. */
const entriesOf = (db: Database, actorId: string, { until, showsAddress }: { until: Date; showsAddress: boolean }) =>
  recordPages(db, {
    from: 'audit_entries e',
    where: 'e.agent_id = $1 AND e.at BETWEEN $2 AND $3',
    values: [actorId, oldestRead(until), until],
    at: 'e.at',
    id: 'e.id::text',
    columns: 'e.id, e.at, e.action, e.agent_id, e.resource_type, e.resource_id, e.ip, e.details',
    weight: 'pg_column_size(e.details)',
    maxRows: 1_024,
    record: jsonObject({
      id: 'c.id',
      action: 'c.action',
      agentId: 'c.agent_id',
      resourceType: 'c.resource_type',
      resourceId: 'c.resource_id',
      timestamp: utc('c.at'),
      ip: showsAddress ? 'c.ip' : "''",
      details: 'c.details',
    }),
  })

export const auditExporters = (db: Database): Exporter[] => [
  {
    ...shape,
    // Hides the addresses of earlier users from a later owner.
    pages: (agentId, { until, id, isAdmin }) =>
      entriesOf(db, agentId, { until, showsAddress: id === agentId || isAdmin }),
  },
]
export const auditPersonExporters = (db: Database): PersonExporter[] => [
  { ...shape, pages: (accountId, { until }) => entriesOf(db, `user:${accountId}`, { until, showsAddress: true }) },
  {
    part: 'saved_searches',
    bases: ['provided', 'all'],
    tables: ['saved_searches'],
    pages: (accountId, { until }) =>
      recordPages(db, {
        from: 'saved_searches s',
        where: 's.account_id = $1 AND s.created_at <= $2',
        values: [accountId, until],
        at: 's.created_at',
        id: 's.id',
        columns: 's.*',
        record: jsonObject({
          id: 'c.id',
          page: 'c.page',
          name: 'c.name',
          query: 'c.query',
          created_at: utc('c.created_at'),
        }),
      }),
  },
]

/** Entries about a subject's actions. Retained for 90 days; only expiry deletes them. */
export const retainedAuditEntries = (db: Database): RetainedRecord[] => [
  {
    name: 'audit.entries',
    store: 'postgresql',
    what: 'audit entries: actor, action, resource id, time and network address',
    purpose: 'Showing who accessed data, and detecting misuse. Ids and counts, no content.',
    basis: 'legal obligation (GDPR art. 6(1)(c), with art. 5(2) and 32)',
    kept: `${auditDays} days after each entry, even after an erasure.`,
    tables: ['audit_entries'],
    async inventory({ account, agents }, now) {
      const actors = [...agents, ...(account === null ? [] : [`user:${account}`])]
      const [row] = await entriesOfActors(db, { actors, from: oldestRead(now) })
      const last = row?.last ?? null
      return {
        count: row?.count ?? 0,
        since: row?.since ?? null,
        until: last && new Date(last.getTime() + auditDays * 86_400_000),
      }
    },
  },
]
