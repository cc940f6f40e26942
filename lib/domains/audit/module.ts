import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { savedSearchDataSource } from './data-source.ts'
import { auditEvidence } from './evidence.ts'
import { auditExporters, auditPersonExporters } from './exporters.ts'
import { auditJobs } from './jobs.ts'
import type { AuditLog } from './log.ts'
import type { AuditNameDeps } from './names.ts'
import { retainedAuditEntries } from './retained-records.ts'
import { auditService } from './service.ts'

export const auditData = (db: Database): PersonalData => ({
  dataSources: [savedSearchDataSource(db)],
  exporters: auditExporters(db),
  personExporters: auditPersonExporters(db),
  retainedRecords: retainedAuditEntries(db),
})

/** The audit log and saved searches of it. */
export const auditModule = (db: Database, log: AuditLog, names: AuditNameDeps) => ({
  useCases: { audit: auditService(db, names) },
  jobs: auditJobs(db, log),
  checks: auditEvidence(),
})
