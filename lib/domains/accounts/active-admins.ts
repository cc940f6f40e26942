import type { Database } from '#lib/stores/postgres/database.ts'
import { adminAccounts } from './repository.ts'

/** The number of admins who can sign in and are not about to be erased. */
export const countActiveAdmins = async (db: Database): Promise<number> =>
  (await adminAccounts(db, {}, 'read')).filter(({ stays }) => stays).length
