import type { Database } from '#lib/stores/postgres/database.ts'
import type { Unit } from '../unit.ts'
import { textsOf } from './unit-texts.ts'
import { searchVector } from './vector.ts'

/** Rows of one batch, each a transaction: who changes or erases one of them waits for no more than that. */
const [mostNews, mostLooked, mostUnindexed] = [20, 500, 100]
/** How long one run looks for words that went with their bearer, in milliseconds; the next goes on from there. */
const patience = 2_000

/** Adds the words of rows that are new or changed to the table of words. Gives how many rows that were; 0 also where others hold them. */
export async function gatherWords(db: Database): Promise<number> {
  const [gathered] = await db.query<{ n: number }>('gather-words', 'SELECT gather_words($1) AS n', [mostNews])
  return gathered?.n ?? 0
}

/**
 * Goes round all rows, a stretch at each call, and adds words that rows have and the table lost with their former bearer. Small
 * registries are through in one call. Where it stands is this process's memory: after a restart it begins again.
 */
export function wordsAgain(db: Database): () => Promise<void> {
  let after = ''
  return async () => {
    const until = performance.now() + patience
    do {
      const [looked] = await db.query<{ last: string | null }>('words-again', 'SELECT find_words_again($1, $2) AS last', [after, mostLooked]) // biome-ignore format: one call
      after = looked?.last ?? ''
    } while (after !== '' && performance.now() < until)
  }
}

/** Counts the rows of each scope anew; what is held back counts for its author alone, as its words do. */
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

/** Gives words to units that were stored before there was a search. Gives how many that were. */
export const indexUnits = (db: Database): Promise<number> =>
  db.transaction(async (tx) => {
    const units = await tx.$queryRaw<{ id: string; document: Unit }[]>`
      SELECT id, document FROM units WHERE search IS NULL ORDER BY id LIMIT ${mostUnindexed} FOR UPDATE SKIP LOCKED`
    const indexed = units.map(({ id, document }) => ({ id, search: searchVector(textsOf(document)) }))
    await tx.$executeRaw`
      UPDATE units u SET search = s.search::tsvector FROM json_to_recordset(${JSON.stringify(indexed)}::json) AS s(id text, search text)
      WHERE u.id = s.id`
    return units.length
  })
