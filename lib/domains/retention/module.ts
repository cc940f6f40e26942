import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { retentionEvidence } from './evidence.ts'
import { retentionJobs } from './jobs.ts'
import { retainedSweepRecords } from './retained-records.ts'
import { periodsOf } from './rules.ts'
import { type RetentionServiceDeps, retentionService } from './service.ts'

export const retentionData = (db: Database): PersonalData => ({ retainedRecords: retainedSweepRecords(db) })

/** Retention periods and the sweeps that apply them. */
export function retentionModule(deps: RetentionServiceDeps) {
  const retention = retentionService(deps)
  const periods = async () => periodsOf(await retention.policyNow())
  return {
    useCases: { retention },
    jobs: retentionJobs(retention),
    checks: retentionEvidence({ expiring: deps.stores.expiring, periods }),
    /** The periods in force, without those that are announced. */
    periods,
  }
}
