import type { Kept } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { officeActs } from '#lib/stores/postgres/office-acts.ts'

/** Retained records: who created or released a hold. */
export const holdsKept = (db: Database): Kept[] => [
  officeActs(db, {
    name: 'holds.acts',
    what: 'legal holds that you made or released',
    table: 'legal_holds',
    by: ['created_by', 'released_by'],
    at: 'created_at',
  }),
]
