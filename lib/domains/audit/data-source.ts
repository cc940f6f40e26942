import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Saved searches of admins and auditors; an item is a search id. The log itself is a retained record (kept.ts). */
export const savedSearchDataSource = (db: Database): DataSource => ({
  name: 'audit.searches',
  store: 'postgresql',
  stage: 'account',
  what: 'saved searches of the audit log: their names and filters',
  purpose: 'to find again what an admin or auditor looks for often',
  kept: 'until the person deletes them or is erased',
  tables: ['saved_searches'],
  async inventory({ account }) {
    if (account === null) return { count: 0, since: null, until: null }
    const [row] = await db.query<{ n: number; since: Date | null }>(
      'saved-searches-inventory',
      'SELECT count(*)::int AS n, min(created_at) AS since FROM saved_searches WHERE account_id = $1',
      [account],
    )
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope) || scope.subject.account === null) return { items: [], held: {} }
    const records = await tx.savedSearch.findMany({ where: { accountId: scope.subject.account }, select: { id: true } })
    return { items: records.map(({ id }) => id).sort(), held: {} }
  },
  erase: async (_scope, items, tx) => (await tx.savedSearch.deleteMany({ where: { id: { in: [...items] } } })).count,
  async residue(scope, items) {
    if (!('subject' in scope) || scope.subject.account === null) return 0
    const [row] = await db.query<{ n: number }>(
      'saved-searches-residue',
      `SELECT ((SELECT count(*) FROM saved_searches WHERE account_id = $1)
        + (SELECT count(*) FROM saved_searches WHERE id = ANY($2::text[]) AND account_id <> $1))::int AS n`,
      [scope.subject.account, items],
    )
    return row?.n ?? 0
  },
})
