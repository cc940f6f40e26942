import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import { officeActs } from '#lib/stores/postgres/admin-changes.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Retained records: who created or released a hold. */
export const retainedHolds = (db: Database): RetainedRecord[] => [
  officeActs(db, {
    name: 'holds.acts',
    what: 'legal holds that you placed or released',
    table: 'legal_holds',
    by: ['created_by', 'released_by'],
    at: 'created_at',
  }),
]
