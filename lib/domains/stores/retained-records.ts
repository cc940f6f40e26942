import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { officeActs } from '#lib/stores/postgres/office-acts.ts'

/** Who declared that a store contains no data. */
export const retainedStoreRecords = (db: Database): RetainedRecord[] => [
  officeActs(db, {
    name: 'stores.acts',
    what: 'stores that you retired',
    table: 'known_stores',
    by: ['retired_by'],
    at: 'retired_at',
  }),
]
