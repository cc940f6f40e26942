import { z } from 'zod'
import type { Clock } from '#lib/kernel/clock.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { AuditAction } from '#lib/kernel/operation.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { AuditLog } from './log.ts'
import { auditExporters, auditPersonExporters, retainedAuditEntries, savedSearchDataSource } from './personal-data.ts'
import { createPartitions, oldestEntry, rightsToEntries } from './repository.ts'
import { oldestRead } from './rules.ts'
import { auditService } from './service.ts'

export const auditData = (db: Database): PersonalData => ({
  dataSources: [savedSearchDataSource(db)],
  exporters: auditExporters(db),
  personExporters: auditPersonExporters(db),
  retainedRecords: retainedAuditEntries(db),
})

const hour = 3_600_000

/** Checks that the application cannot alter the log and that old entries are deleted in time. */
const auditEvidence = (): EvidenceCheck[] => [
  {
    line: 'audit_trail',
    name: 'audit.append-only',
    page: null,
    async ask(query) {
      const [row] = await rightsToEntries(query, {})
      const { tables = 0, writable = 0, readable = false, owned = true } = row ?? {}
      return {
        state: failsIf(tables === 0 || writable > 0 || owned || !readable),
        numbers: { tables, writable, owned: owned ? 1 : 0, unwritten: readable ? 0 : 1 },
      }
    },
  },
  {
    line: 'storage_limitation',
    name: 'audit.oldest',
    page: '/admin/audit?reads=true',
    async ask(query, now) {
      const [row] = await oldestEntry(query, {})
      const oldest = row?.oldest ?? null
      // Reads end at 90 days to the millisecond. The row itself is deleted after a write, up to a minute later.
      const limit = oldestRead(now).getTime() - 2 * hour
      return {
        state: failsIf(oldest !== null && oldest.getTime() < limit),
        times: { oldest },
        ...(oldest && { page: `/admin/audit?reads=true&to=${oldest.toISOString()}` as const }),
      }
    },
  },
]

/** Creates partitions a week ahead. Entries without a partition are stored in the default one and moved later. */
const auditJobs = (db: Database, log: AuditLog) => [
  job({
    name: 'audit.upkeep',
    payload: z.unknown(),
    cron: '7 * * * *',
    async run(ctx) {
      await createPartitions(db, { days: 7 })
      await log.purge(ctx.now)
    },
  }),
]

/** A query of the audit log by server code; times are inclusive. */
interface AuditQuestion {
  agentId?: string
  action?: AuditAction
  from?: Date
  to?: Date
  /** Continues after the last entry of another page. */
  cursor?: string
  /** 1 to 500; 100 if absent. */
  limit?: number
}
/** The audit log and saved searches of it. */
export function auditModule({ clock, db, log }: { clock: Clock; db: Database; log: AuditLog }) {
  const audit = auditService(db)
  return {
    useCases: { audit },
    jobs: auditJobs(db, log),
    checks: auditEvidence(),
    auditLog: {
      /** A page of entries, newest first. `nextCursor` leads to the next page; null after the last one. */
      query: ({ agentId, action, from, to, cursor, limit }: AuditQuestion) =>
        audit.query({ agent_id: agentId, action, from, to, cursor }, clock.now(), limit),
    },
  }
}
