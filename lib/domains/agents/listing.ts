import type { TierName } from '#lib/domains/tokens/rules.ts'
import type { TimeCursor } from '#lib/kernel/pages.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** An agent in the admin list. */
export interface ListedAgent {
  id: string
  name: string | null
  tier: TierName
  readsPerMinute: number | null
  writesPerMinute: number | null
  isOwned: boolean
  organisationId: string
  organisationName: string
  restrictedAt: Date | null
  suspendedAt: Date | null
  createdAt: Date
}
export interface AgentListFilter {
  /** Prefix of an id or a name, case-insensitive. */
  beginning?: string | undefined
  tier?: TierName | undefined
}
export interface AgentListing {
  page(filter: AgentListFilter, after: TimeCursor | undefined, limit: number): Promise<ListedAgent[]>
  /** Counts matching agents, up to `most`. */
  count(filter: AgentListFilter, most: number): Promise<number>
  one(id: string): Promise<ListedAgent | undefined>
  total(): Promise<number>
}

const columns = `a.id, a.name, a.tier, a.reads_per_minute AS "readsPerMinute", a.writes_per_minute AS "writesPerMinute",
  a.owner_id IS NOT NULL AS "isOwned", a.organisation_id AS "organisationId", o.name AS "organisationName",
  a.restricted_at AS "restrictedAt", a.suspended_at AS "suspendedAt", a.created_at AS "createdAt"`
const from = 'agents a JOIN organisation_names o ON o.id = a.organisation_id'
const matching =
  '($1::text IS NULL OR lower(a.id) LIKE $1 OR lower(a.name) LIKE $1) AND ($2::text IS NULL OR a.tier::text = $2)'

const values = ({ beginning, tier }: AgentListFilter) => [
  beginning === undefined ? null : `${beginning.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`,
  tier ?? null,
]

/** All agents of the installation, for admins. */
export const agentListing = (db: Database): AgentListing => ({
  page: (filter, after, limit) =>
    db.query<ListedAgent>(
      'agents-listed',
      `SELECT ${columns} FROM ${from} WHERE ${matching} AND ($3::timestamptz IS NULL OR (a.created_at, a.id) < ($3, $4))
       ORDER BY a.created_at DESC, a.id DESC LIMIT $5`,
      [...values(filter), after?.at ?? null, after?.id ?? null, limit],
    ),
  async count(filter, most) {
    const [row] = await db.query<{ n: number }>(
      'agents-matching',
      `SELECT count(*)::int AS n FROM (SELECT FROM agents a WHERE ${matching} LIMIT $3) AS counted`,
      [...values(filter), most],
    )
    return row?.n ?? 0
  },
  one: async (id) =>
    (await db.query<ListedAgent>('agent-listed', `SELECT ${columns} FROM ${from} WHERE a.id = $1`, [id]))[0],
  async total() {
    const [row] = await db.query<{ n: number }>('agents-total', 'SELECT count(*)::int AS n FROM agents')
    return row?.n ?? 0
  },
})
