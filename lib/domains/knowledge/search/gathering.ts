import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Unit } from '../unit.ts'
import { textsOf } from './unit-texts.ts'
import { searchVector } from './vector.ts'

/** Rows of one batch, each a transaction: what takes words away waits for no more than that. */
const [mostNews, mostUnindexed] = [500, 100]
/** The table is looked through in so many parts, one a minute: what rows that went in bulk have left goes within the hour. */
export const parts = 60

/** Adds the words of rows that are new or changed to the table of words. Gives how many rows that were. */
export const gatherWords = (db: Database): Promise<number> =>
  db.transaction(async (tx) => {
    const news = await tx.$queryRaw<{ id: string }[]>`
      DELETE FROM search_news WHERE id IN (SELECT id FROM search_news ORDER BY id LIMIT ${mostNews} FOR UPDATE SKIP LOCKED) RETURNING id`
    const ids = news.map(({ id }) => id)
    if (ids.length === 0) return 0
    // The scopes are locked before the rows are read: what is erased meanwhile is gone, or waits until the words are there to be taken out.
    const locked = await lockScopes(tx, ids)
    await tx.$executeRaw`
      WITH fresh AS (
        SELECT scope, search FROM units WHERE id = ANY(${ids}::text[]) AND scope = ANY(${locked}::text[])
        UNION ALL SELECT scope, search FROM skills WHERE id = ANY(${ids}::text[]) AND scope = ANY(${locked}::text[]))
      INSERT INTO search_words (scope, word, units)
      SELECT scope, word, count(*)::int FROM (
        SELECT scope, lexeme AS word FROM fresh, unnest(search) UNION ALL SELECT scope, '' FROM fresh) AS words
      GROUP BY scope, word ORDER BY scope, word
      ON CONFLICT (scope, word) DO UPDATE SET units = search_words.units + excluded.units`
    return ids.length
  })

async function lockScopes(tx: Transaction, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.$queryRaw<{ scope: string }[]>`
    SELECT scope FROM units WHERE id = ANY(${[...ids]}::text[]) UNION SELECT scope FROM skills WHERE id = ANY(${[...ids]}::text[]) ORDER BY 1`
  // One after the other, in one order: no two wait for each other.
  for (const { scope } of rows) await tx.$queryRaw`SELECT 1 AS done FROM (SELECT lock_words(${scope})) AS locked`
  return rows.map(({ scope }) => scope)
}

/**
 * Takes out of one part of the table what no row has any more. A word whose count changed since it was looked at has been found in a
 * row meanwhile.
 */
export async function settleWords(db: Database, part: number): Promise<void> {
  await db.query(
    'settle-words',
    `WITH looked AS MATERIALIZED (SELECT scope, word, units FROM search_words WHERE word <> '' AND (hashtext(word) & 2147483647) % ${parts} = $1),
      without AS (SELECT held.scope, o.word FROM (SELECT scope, array_agg(word) AS words FROM looked GROUP BY scope) AS held
        CROSS JOIN LATERAL words_without_row(held.scope, held.words, '{}') AS o(word))
    DELETE FROM search_words w USING looked JOIN without USING (scope, word)
    WHERE w.scope = looked.scope AND w.word = looked.word AND w.units = looked.units`,
    [part],
  )
  if (part !== 0) return
  await db.query(
    'count-scopes',
    `WITH counted AS MATERIALIZED (SELECT scope, count(*)::int AS n FROM (
        SELECT scope FROM units UNION ALL SELECT scope FROM skills) AS everything GROUP BY scope),
      gone AS (DELETE FROM search_words w WHERE w.word = '' AND NOT EXISTS (SELECT FROM counted c WHERE c.scope = w.scope))
    UPDATE search_words w SET units = c.n FROM counted c
    WHERE w.scope = c.scope AND (w.units > c.n OR (w.word = '' AND w.units <> c.n))`,
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
