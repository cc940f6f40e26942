import type { Database } from '#lib/stores/postgres/database.ts'
import { type QuotaJobPorts, quotasJobs } from './jobs.ts'
import { type QuotaPorts, quotasService } from './service.ts'

export interface QuotasDeps extends Omit<QuotaJobPorts, 'organisations'> {
  db: Database
  organisations: QuotaJobPorts['organisations'] & QuotaPorts['organisations']
}

/** Storage quotas of organizations and unclaimed agents. */
export const quotasModule = ({ db, ...ports }: QuotasDeps) => ({
  useCases: { quotas: quotasService(db, ports) },
  jobs: quotasJobs(db, ports),
})
