import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { entriesOfActors } from './repository.ts'
import { auditDays, oldestRead } from './rules.ts'

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
