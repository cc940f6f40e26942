import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { adminChanges } from '#lib/stores/postgres/admin-changes.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { settingNamed } from './repository.ts'
import { settingsService } from './service.ts'

/** Who changed a setting. */
const retainedSettings = (db: Database): RetainedRecord[] => [
  adminChanges(db, {
    name: 'settings.acts',
    what: 'settings that you changed',
    table: 'settings',
    by: ['updated_by'],
    at: 'updated_at',
  }),
]

export const settingsData = (db: Database): PersonalData => ({ retainedRecords: retainedSettings(db) })

/** Protection by default (GDPR art. 25(2)): data is public only when somebody decided so. */
const settingsEvidence = (): EvidenceCheck[] => [
  {
    line: 'by_design',
    name: 'settings.anonymous-reading',
    page: '/admin/tokens#settings',
    async ask(query) {
      const [row] = await settingNamed(query, { name: 'anonymous_reading' })
      const isOn = row?.value === true
      return {
        state: isOn ? 'attention' : 'holds',
        numbers: { on: isOn ? 1 : 0 },
        times: { changed: row?.updated_at ?? null },
      }
    },
  },
]

/** Settings of the installation that admins change. */
export const settingsModule = (db: Database) => ({
  useCases: { settings: settingsService(db) },
  checks: settingsEvidence(),
})
