import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Database } from './database.ts'

/** Where a table stores which account changed something in the installation, and when. The names are constants of ours. */
interface AdminChanges {
  /** `<domain>.<what>` */
  name: string
  what: string
  table: string
  /** One or more columns. */
  by: readonly string[]
  at: string
}

/** A retained record: the id of the admin who changed something in the installation. It remains after the person is erased. */
export const adminChanges = (db: Database, { name, what, table, by, at }: AdminChanges): RetainedRecord => ({
  name,
  store: 'postgresql',
  what,
  purpose: 'Recording which admin changed a setting.',
  basis: 'legitimate interest (GDPR art. 6(1)(f)): an accountable administration',
  kept: 'As long as the setting or decision; only the id.',
  tables: [table],
  isAdminAct: true,
  async inventory({ account }) {
    if (account === null) return { count: 0, since: null, until: null }
    const [row] = await db.query<{ count: number; since: Date | null }>(
      `office-${table}`,
      `SELECT count(*)::int AS count, min(${at}) AS since FROM ${table} WHERE ARRAY[${by.join(', ')}] && ARRAY[$1, 'user:' || $1]`,
      [account],
    )
    return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
  },
})
