import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { settingsEvidence } from './evidence.ts'
import { retainedSettings } from './retained-records.ts'
import { settingsService } from './service.ts'

export const settingsData = (db: Database): PersonalData => ({ retainedRecords: retainedSettings(db) })

/** Settings of the installation that admins change. */
export const settingsModule = (db: Database) => ({
  useCases: { settings: settingsService(db) },
  checks: settingsEvidence(),
})
