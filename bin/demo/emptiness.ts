import type { App } from '#lib/app.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'

/** Counts of tables. Only rows of the first start may exist before the demo. */
const counts = `SELECT
  (SELECT count(*) FROM accounts)::int AS accounts, (SELECT count(*) FROM agents)::int AS agents,
  (SELECT count(*) FROM organisations)::int AS organisations, (SELECT count(*) FROM tokens)::int AS tokens,
  (SELECT count(*) FROM accounts WHERE role <> 'admin')::int AS members,
  (SELECT count(*) FROM units)::int AS units, (SELECT count(*) FROM skills)::int AS skills,
  (SELECT count(*) FROM projects)::int AS projects,
  (SELECT count(*) FROM privacy_requests)::int AS requests, (SELECT count(*) FROM erasures)::int AS erasures,
  (SELECT count(*) FROM deletion_audit_log)::int AS deletions, (SELECT count(*) FROM legal_holds)::int AS holds`
type Counts = Record<string, number>
const atMost: Counts = { accounts: 1, agents: 1, organisations: 1, tokens: 1 }

/** Describes everything in the database besides the first admin and its agent. Empty for a new installation. */
export async function beyondFirstAdmin({ db }: Pick<App, 'db'>): Promise<string[]> {
  const [row = {}] = await db.query<Counts>(undefined, counts)
  return Object.entries(row).flatMap(([what, count]) => (count > (atMost[what] ?? 0) ? [`${count} ${what}`] : []))
}

/** The number of other database connections. A running worker would execute the story's jobs at the current time. */
export const othersConnected = (ownerUrl: string): Promise<number> =>
  withConnection(ownerUrl, async (client) => {
    const { rows } = await client.query<{ n: number }>(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
    )
    return rows[0]?.n ?? 0
  })
