import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { officeActs } from '#lib/stores/postgres/office-acts.ts'

/** Who changed a setting. */
export const retainedSettings = (db: Database): RetainedRecord[] => [
  officeActs(db, {
    name: 'settings.acts',
    what: 'settings that you changed',
    table: 'settings',
    by: ['updated_by'],
    at: 'updated_at',
  }),
]
