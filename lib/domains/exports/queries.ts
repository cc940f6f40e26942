import type { Database } from '#lib/stores/postgres/database.ts'
import { exportsInPreparation, exportsReady } from './repository.ts'

/** Milliseconds; older exports have ended. */
const lookBack = 7 * 86_400_000
const since = (now: Date): Date => new Date(now.getTime() - lookBack)

/** Returns a person's exports in preparation, newest first; at most 20. */
export const activeExports = (db: Database, account: string, now: Date) =>
  exportsInPreparation(db, { account, since: since(now) })

/** Returns at most 5 exports of a person that are ready, in the order in which they expire. */
export const exportsToFetch = (db: Database, account: string, now: Date) =>
  exportsReady(db, { account, now, since: since(now) })
