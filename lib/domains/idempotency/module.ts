import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { idempotencyDataSource } from './data-source.ts'
import { idempotencyJobs } from './jobs.ts'

export const idempotencyData = (db: Database): PersonalData => ({ dataSources: [idempotencyDataSource(db)] })

/** Stored answers to repeated requests. */
export const idempotencyModule = (db: Database) => ({ useCases: {}, jobs: idempotencyJobs(db) })
