import { expiringTables, isUnderLegalHold } from '#lib/domains/knowledge/expiry.ts'
import type { Periods } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

const day = 86_400_000

export interface ExpiringSummary {
  visibility: keyof Periods
  count: number
  /** When the first of them expires. */
  firstAt: Date
}
export interface ExpiringFor {
  agents: readonly string[]
  organisationId: string | undefined
}

/** $1: visibility, scope and storage time limit; $2: the agents; $3: the current time. Uses the index on scope and time. */
const statement = `SELECT p.visibility, count(*)::int AS n, min(t.created_at) AS since
  FROM jsonb_to_recordset($1::jsonb) AS p (visibility text, scope text, before timestamptz)
  CROSS JOIN LATERAL (${expiringTables
    .map(
      (kind) =>
        `SELECT t.created_at FROM ${kind.table} t WHERE t.scope = p.scope AND t.created_at <= p.before
           AND t.agent_id = ANY($2::text[]) AND NOT (${isUnderLegalHold(kind, '$3')})`,
    )
    .join(' UNION ALL ')}) AS t
  GROUP BY p.visibility`

/** Counts units and skills of these agents that retention will delete by `until`, except those under a legal hold. */
export async function expiringSoon(
  db: Database,
  { agents, organisationId }: ExpiringFor,
  periods: Periods,
  { now, until }: { now: Date; until: Date },
): Promise<ExpiringSummary[]> {
  const scopes: Record<keyof Periods, string[]> = {
    network: ['network'],
    org: organisationId === undefined ? [] : [`org:${organisationId}`],
    private: agents.map((id) => `agent:${id}`),
  }
  const visibilities = ['network', 'org', 'private'] as const
  const searched = visibilities.flatMap((visibility) => {
    const days = periods[visibility]
    if (days === null) return []
    const before = new Date(until.getTime() - days * day).toISOString()
    return scopes[visibility].map((scope) => ({ visibility, scope, before }))
  })
  if (agents.length === 0 || searched.length === 0) return []
  const records = await db.query<{ visibility: keyof Periods; n: number; since: Date }>('expiring-soon', statement, [
    JSON.stringify(searched),
    agents,
    now,
  ])
  return records.map(({ visibility, n, since }) => ({
    visibility,
    count: n,
    firstAt: new Date(since.getTime() + (periods[visibility] ?? 0) * day),
  }))
}
