import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { officeActs } from '#lib/stores/postgres/office-acts.ts'

/** Retained records: who created an invitation. */
export const retainedAgentRecords = (db: Database): RetainedRecord[] => [
  officeActs(db, {
    name: 'agents.invites',
    what: 'invitations that you created',
    table: 'invites',
    by: ['created_by'],
    at: 'created_at',
  }),
]
