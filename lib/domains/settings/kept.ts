import type { Kept } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { officeActs } from '#lib/stores/postgres/office-acts.ts'

/** Who changed a setting. */
export const settingsKept = (db: Database): Kept[] => [
  officeActs(db, {
    name: 'settings.acts',
    what: 'settings that you changed',
    table: 'settings',
    by: ['updated_by'],
    at: 'updated_at',
  }),
]
