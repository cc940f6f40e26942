import type { DataSource } from '#lib/kernel/data-source.ts'
import { rowsOfAccount } from '#lib/stores/postgres/account-rows.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { savedSearchRows } from './repository.ts'

/** Saved searches of admins and auditors; an item is a search id. The log itself is a retained record (retained-records.ts). */
export const savedSearchDataSource = (db: Database): DataSource =>
  rowsOfAccount(db, {
    name: 'audit.searches',
    what: 'saved searches of the audit log: their names and filters',
    purpose: 'to repeat searches that an admin or auditor needs often',
    kept: 'until the person deletes them or is erased',
    rows: savedSearchRows,
  })
