import { idsUnderLegalHold } from '#lib/domains/knowledge/erasure/legal-holds.ts'
import type { Counts, Expiring, Periods } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

const day = 86_400_000
const visibilities = ['network', 'org', 'private'] as const

export interface ExpiringTable {
  table: 'units' | 'skills'
  scope: Expiring['scope']
  resourceType: string
  /** Columns that may contain the id of an agent whose legal hold covers the row. */
  agents: readonly { column: string; isOptional: boolean }[]
  /** Whether former versions exist; each may name another expert. */
  hasWordings: boolean
}
const author = { column: 'agent_id', isOptional: false }
export const expiringTables: readonly ExpiringTable[] = [
  {
    table: 'units',
    scope: 'unit',
    resourceType: 'knowledge',
    agents: [author, { column: 'attributed_to', isOptional: true }, { column: 'original_author', isOptional: true }],
    hasWordings: true,
  },
  { table: 'skills', scope: 'skill', resourceType: 'skill', agents: [author], hasWordings: false },
]

const wordings = (held: string): string =>
  `SELECT v.unit_id AS id FROM sop_versions v WHERE v.document->'source'->>'expert_id' IN (${held})`

/** Condition for a row under a legal hold. Each subquery runs once per statement, so the cost does not grow with the number of holds. */
export const isUnderLegalHold = ({ scope, agents, hasWordings }: ExpiringTable, now: string): string =>
  [
    `t.id IN (${idsUnderLegalHold(scope, now)})`,
    ...agents.map(({ column, isOptional }) => {
      const id = isOptional ? `coalesce(t.${column}, '')` : `t.${column}`
      return `${id} IN (${idsUnderLegalHold('agent', now)})`
    }),
    ...(hasWordings ? [`t.id IN (${wordings(idsUnderLegalHold('agent', now))})`] : []),
  ].join(' OR ')

/**
 * Continues after the previous batch to avoid reading deleted and held rows again. Selects rows by an array of ids, because with a join the
 * planner reads the whole table. A row changed while this statement waits (by a vote) is still deleted, unless a hold covers its new state.
 */
const removal = (kind: ExpiringTable): string => `due AS MATERIALIZED (
    SELECT t.id, t.created_at AS stored_at FROM ${kind.table} t
    WHERE t.visibility = $1::visibility AND t.created_at >= $2::timestamptz AND t.created_at <= $3::timestamptz
      AND NOT (${isUnderLegalHold(kind, '$4')})
    ORDER BY t.created_at LIMIT $5::int),
  gone AS (
    DELETE FROM ${kind.table} t WHERE t.id = ANY (ARRAY(SELECT id FROM due)) AND t.visibility = $1::visibility
      AND NOT (${isUnderLegalHold(kind, '$4')}) RETURNING t.id)`

/** Starts from the holds, because few rows are held and many expire. $1: visibilities; $2: their expiry limits; $3: the current time. */
const countHeld = (kind: ExpiringTable): string => `
  WITH held_records AS MATERIALIZED (${idsUnderLegalHold(kind.scope, '$3')}), held_agents AS MATERIALIZED (${idsUnderLegalHold('agent', '$3')})
  SELECT p.visibility::text AS visibility, count(t.id)::int AS n
  FROM unnest($1::visibility[], $2::timestamptz[]) AS p (visibility, before)
  JOIN ${kind.table} t ON t.visibility = p.visibility AND t.created_at <= p.before
  WHERE t.id IN (SELECT target_id FROM held_records
    ${kind.agents.map(({ column }) => `UNION SELECT id FROM ${kind.table} WHERE ${column} IS NOT NULL AND ${column} IN (SELECT target_id FROM held_agents)`).join('\n    ')}
    ${kind.hasWordings ? `UNION ${wordings('SELECT target_id FROM held_agents')}` : ''})
  GROUP BY p.visibility`
const countExpired = (kind: ExpiringTable): string => `
  SELECT p.visibility::text AS visibility,
    (SELECT count(*)::int FROM ${kind.table} t WHERE t.visibility = p.visibility AND t.created_at <= p.before) AS n
  FROM unnest($1::visibility[], $2::timestamptz[]) AS p (visibility, before)`

interface Count {
  visibility: keyof Periods
  n: number
}

const expiringRows = (db: Database, kind: ExpiringTable): Expiring => {
  const limitsOf = (periods: Periods, now: Date): [(keyof Periods)[], Date[]] => {
    const limited = visibilities.flatMap((visibility) => {
      const days = periods[visibility]
      return days === null ? [] : [{ visibility, before: new Date(now.getTime() - days * day) }]
    })
    return [limited.map(({ visibility }) => visibility), limited.map(({ before }) => before)]
  }
  const held = (periods: Periods, now: Date): Promise<Count[]> =>
    db.query<Count>(`held-${kind.table}`, countHeld(kind), [...limitsOf(periods, now), now])

  return {
    name: `knowledge.${kind.table}`,
    resourceType: kind.resourceType,
    scope: kind.scope,
    removal: removal(kind),
    async due(periods, now): Promise<Counts> {
      const counts: Counts = { network: 0, org: 0, private: 0, held: 0 }
      const expired = await db.query<Count>(`expired-${kind.table}`, countExpired(kind), limitsOf(periods, now))
      for (const { visibility, n } of expired) counts[visibility] += n
      for (const { visibility, n } of await held(periods, now)) {
        counts[visibility] -= n
        counts.held += n
      }
      return counts
    },
    held: async (periods, now) => (await held(periods, now)).reduce((sum, { n }) => sum + n, 0),
  }
}

/** Deletion of expired units and skills. Dependent rows (votes, reports, versions, files) are deleted with them. */
export const knowledgeExpiry = (db: Database): Expiring[] => expiringTables.map((kind) => expiringRows(db, kind))
