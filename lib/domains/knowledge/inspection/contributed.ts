import type { Database } from '#lib/stores/postgres/database.ts'

interface Contributed {
  id: string
  units: number
  skills: number
  reputation: number
}
const countOf = (table: 'units' | 'skills') =>
  `(SELECT count(*)::int FROM (SELECT FROM ${table} t WHERE t.agent_id = a.id LIMIT $2::int) AS counted)`
const select = `SELECT a.id, ${countOf('units')} AS units, ${countOf('skills')} AS skills,
    coalesce((SELECT r.score FROM reputation r WHERE r.agent_id = a.id), 0) AS reputation
  FROM unnest($1::text[]) AS a(id)`

/** Number of units and skills, and reputation, of each agent; counting stops at `bound`. */
export const contributedBy =
  (db: Database) =>
  async (agents: readonly string[], bound: number): Promise<ReadonlyMap<string, Omit<Contributed, 'id'>>> =>
    new Map(
      (await db.query<Contributed>('contributed-by', select, [agents, bound])).map(({ id, ...counts }) => [id, counts]),
    )
