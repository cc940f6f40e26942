import type { Kept } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { officeActs } from '#lib/stores/postgres/office-acts.ts'

/** Retained records: who created an invitation. */
export const agentsKept = (db: Database): Kept[] => [
  officeActs(db, {
    name: 'agents.invites',
    what: 'invitations that you made',
    table: 'invites',
    by: ['created_by'],
    at: 'created_at',
  }),
]
