import type { Database } from '#lib/stores/postgres/database.ts'
import type { Unit } from '../unit.ts'
import { weightedTextsOf } from './unit-texts.ts'
import { searchVector } from './vector.ts'

/** Maximum rows per batch. Each batch is one transaction, which bounds the waiting time of changes and erasures. */
const [mostNews, mostLooked, mostUnindexed] = [20, 500, 100]
/** Milliseconds that one run searches for lost words; the next run continues there. */
const patience = 2_000

/** Adds the words of new and changed rows to the word table. Returns the number of rows; also 0 if others have locked them. */
export async function gatherWords(db: Database): Promise<number> {
  const [gathered] = await db.query<{ n: number }>('gather-words', 'SELECT gather_words($1) AS n', [mostNews])
  return gathered?.n ?? 0
}

/**
 * Cycles through all rows, a section per call, and adds words missing from the word table because their former bearer was deleted. Small
 * registries complete in one call. The position is kept in memory: after a restart it begins again.
 */
export function regatherWords(db: Database): () => Promise<void> {
  let after = ''
  return async () => {
    const until = performance.now() + patience
    do {
      const [looked] = await db.query<{ last: string | null }>('words-again', 'SELECT find_words_again($1, $2) AS last', [after, mostLooked]) // biome-ignore format: one call
      after = looked?.last ?? ''
    } while (after !== '' && performance.now() < until)
  }
}

/** Recounts the rows of each scope. Quarantined rows only count for their author, like their words. */
export async function countScopes(db: Database): Promise<void> {
  await db.query(
    'count-scopes',
    `WITH counted AS MATERIALIZED (SELECT words_scope(scope, agent_id, quarantined_at) AS scope, count(*)::int AS n FROM (
        SELECT scope, agent_id, quarantined_at FROM units UNION ALL SELECT scope, agent_id, quarantined_at FROM skills) AS everything
        GROUP BY 1),
      gone AS (DELETE FROM search_words w WHERE w.word = '' AND NOT EXISTS (SELECT FROM counted c WHERE c.scope = w.scope))
    UPDATE search_words w SET units = c.n FROM counted c WHERE w.scope = c.scope AND w.word = '' AND w.units <> c.n`,
  )
}

/** Indexes units stored by versions without search. Returns the number of units. */
export const indexUnits = (db: Database): Promise<number> =>
  db.transaction(async (tx) => {
    const units = await tx.$queryRaw<{ id: string; document: Unit }[]>`
      SELECT id, document FROM units WHERE search IS NULL ORDER BY id LIMIT ${mostUnindexed} FOR UPDATE SKIP LOCKED`
    const indexed = units.map(({ id, document }) => ({ id, search: searchVector(weightedTextsOf(document)) }))
    await tx.$executeRaw`
      UPDATE units u SET search = s.search::tsvector FROM json_to_recordset(${JSON.stringify(indexed)}::json) AS s(id text, search text)
      WHERE u.id = s.id`
    return units.length
  })
