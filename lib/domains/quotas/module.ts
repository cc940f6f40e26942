import type { Database } from '#lib/stores/postgres/database.ts'
import { type QuotaJobPorts, quotasJobs } from './jobs.ts'
import { quotasService } from './service.ts'

export interface QuotasDeps extends QuotaJobPorts {
  db: Database
}

/** Storage quotas of organizations and unclaimed agents. */
export const quotasModule = ({ db, ...ports }: QuotasDeps) => ({
  useCases: { quotas: quotasService(db) },
  jobs: quotasJobs(db, ports),
})
