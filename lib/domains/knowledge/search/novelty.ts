import type { Database } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import { qualityOf, scoreOf } from '../rules.ts'
import type { Unit } from '../unit.ts'
import { searchSettings } from './ranking.ts'

/** Maximum units per batch. */
const mostUnits = 50
/** Maximum number of a unit's rarest shared words used to find similar units, and of units compared. */
const [mostTelling, mostCompared] = [16, 30]
/** Maximum rows that a word may match to be used for the search. */
const mostFound = 3_000

interface Unjudged {
  id: string
  document: Unit
  domain: string
  scope: string
  agent_id: string
  created_at: Date
  version: number
}

/** Jaccard similarity of two sets of words, 0–1. */
function similarity(one: ReadonlySet<string>, other: readonly string[]): number {
  let shared = 0
  for (const word of other) if (one.has(word)) shared++
  const together = one.size + other.length - shared
  return together === 0 ? 0 : shared / together
}

/**
 * Computes the novelty of new units: 1 − the highest similarity to older units of the domain. Only compares with the unit's own scope and
 * the network, and not with quarantined units, so that no score reveals a unit that its reader may not see. Returns the number of units.
 */
export async function judgeNovelty(db: Database): Promise<number> {
  const units = await db.query<Unjudged>(
    'unjudged',
    `SELECT id, document, domain, scope, agent_id, created_at, version FROM units
     WHERE novelty IS NULL AND search IS NOT NULL ORDER BY id LIMIT ${mostUnits}`,
  )
  for (const unit of units) {
    const novelty = Math.round((1 - (await nearest(db, unit))) * 10_000) / 10_000
    await store(db, unit, novelty)
  }
  return units.length
}

/**
 * Stores the result only for the version it was computed for: a text changed meanwhile is compared again. Includes votes cast meanwhile.
 */
async function store(db: Database, { id, document, version }: Unjudged, novelty: number): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.$queryRaw<{ votes_for: number; votes_against: number }[]>`
      SELECT votes_for, votes_against FROM units WHERE id = ${id} AND version = ${version} AND novelty IS NULL FOR UPDATE`
    if (!row) return
    const quality = scoreOf(qualityOf(document, novelty), { for: row.votes_for, against: row.votes_against })
    await tx.$executeRaw`UPDATE units SET novelty = ${novelty}::float8, quality_score = ${quality}::float8 WHERE id = ${id}`
  })
}

const nearest = (db: Database, { id, domain, scope, created_at }: Unjudged): Promise<number> =>
  snapshot(db, searchSettings, async (ask) => {
    const scopes = [...new Set([scope, 'network'])]
    const words = await ask<{ word: string; units: number }>(
      `SELECT l.lexeme AS word, coalesce(sum(w.units), 0)::int AS units FROM units u CROSS JOIN LATERAL unnest(u.search) AS l
       LEFT JOIN search_words w ON w.scope = ANY($2::text[]) AND w.word = l.lexeme WHERE u.id = $1 GROUP BY l.lexeme ORDER BY 2, 1`,
      [id, scopes],
    )
    const telling: string[] = []
    let found = 0
    for (const { word, units } of words) {
      if (units < 2) continue
      found += units
      if (telling.length >= mostTelling || (telling.length > 0 && found > mostFound)) break
      telling.push(`'${word}'`)
    }
    if (telling.length === 0) return 0
    const others = await ask<{ words: string[] }>(
      `WITH matching AS MATERIALIZED (
        SELECT u.id, u.search FROM units u WHERE u.search @@ $1::tsquery AND u.scope = ANY($2::text[]) AND u.domain = $3 AND u.id <> $4
          AND (u.created_at, u.id) < ($5::timestamptz, $4) AND u.quarantined_at IS NULL
          AND NOT EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id)
        LIMIT ${mostFound})
       SELECT tsvector_to_array(search) AS words FROM matching ORDER BY ts_rank('{1,1,1,1}', search, $1::tsquery) DESC, id LIMIT ${mostCompared}`,
      [telling.join(' | '), scopes, domain, id, created_at],
    )
    const own = new Set(words.map(({ word }) => word))
    return Math.max(0, ...others.map((other) => similarity(own, other.words)))
  })
