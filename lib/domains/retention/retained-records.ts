import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { officeActs } from '#lib/stores/postgres/office-acts.ts'

/** Retained records: who set a retention period and who requested a sweep. */
export const retainedSweepRecords = (db: Database): RetainedRecord[] => [
  officeActs(db, {
    name: 'retention.periods',
    what: 'retention periods that you set',
    table: 'retention_overrides',
    by: ['set_by'],
    at: 'set_at',
  }),
  officeActs(db, {
    name: 'retention.sweeps',
    what: 'retention sweeps that you started',
    table: 'retention_sweeps',
    by: ['requested_by'],
    at: 'started_at',
  }),
]
