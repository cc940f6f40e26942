import type { Database } from '#lib/stores/postgres/database.ts'
import { quotasJobs } from './jobs.ts'
import { quotasService } from './service.ts'

/** Storage quotas of organizations and unclaimed agents. */
export const quotasModule = (db: Database) => ({ useCases: { quotas: quotasService(db) }, jobs: quotasJobs(db) })
