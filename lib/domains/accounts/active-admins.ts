import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { adminAccounts } from './repository.ts'

/** The ids of admins who can sign in, have replaced a one-time password, and are not about to be erased. */
export const activeAdminIds = async (on: Database | Transaction): Promise<string[]> =>
  (await adminAccounts(on, {}, 'read')).filter(({ acts }) => acts).map(({ id }) => id)

/** The number of these admins. */
export const countActiveAdmins = async (db: Database): Promise<number> => (await activeAdminIds(db)).length
