import type { Transaction } from '#lib/kernel/context.ts'
import type { DataHolder, Scope } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

interface HeldWord {
  scope: string
  word: string
}

/**
 * Takes the words that only these rows have out of the table of words; before the rows go, in that transaction. (A row whose text
 * changes needs no call: the database does it.) Gives what it took out.
 */
const forgetWords = (tx: Transaction, ids: readonly string[]): Promise<HeldWord[]> =>
  tx.$queryRaw<HeldWord[]>`SELECT scope, word FROM forget_words(${[...ids]}::text[])`

/** Of the words in the scopes `$1`, or of those in `$2` where given, the ones that no row has. */
const withoutRow = `SELECT held.scope, o.word FROM (
    SELECT scope, array_agg(word) AS words FROM search_words
    WHERE scope = ANY($1::text[]) AND word <> '' AND ($2::text[] IS NULL OR word = ANY($2::text[])) GROUP BY scope) AS held
  CROSS JOIN LATERAL words_without_row(held.scope, held.words, '{}') AS o(word)`

const idsOf = async (scope: Scope, tx: Transaction): Promise<string[]> => {
  if ('unit' in scope) return [scope.unit]
  if ('skill' in scope) return [scope.skill]
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM units WHERE agent_id = ${scope.agent} UNION ALL SELECT id FROM skills WHERE agent_id = ${scope.agent}`
  return rows.map(({ id }) => id)
}

/** Erasures whose words are remembered for their check; no process has more under way. */
const mostRemembered = 200

/**
 * Answers for the table of words: an item is the list of one scope, and erasing clears it of the words that go. A plan goes into ledgers, so it names scopes, never words: those that were taken out stay in this
 * process's memory until they have been looked for. A process that has not taken them out looks through the whole scope instead.
 */
export function wordsHolder(db: Database): DataHolder {
  const remembered = new Map<string, HeldWord[]>()
  const keyOf = (scope: Scope): string => JSON.stringify(scope)

  return {
    name: 'knowledge.words',
    store: 'postgresql',
    what: 'lists of words by which typing errors in a search are corrected, cleared of its words',
    tables: ['search_words', 'search_news'],
    async plan(scope, tx) {
      const ids = await idsOf(scope, tx)
      const rows = await tx.$queryRaw<{ scope: string }[]>`
        SELECT scope FROM units WHERE id = ANY(${ids}::text[]) UNION SELECT scope FROM skills WHERE id = ANY(${ids}::text[]) ORDER BY 1`
      return rows.map((row) => row.scope)
    },
    async erase(scope, plan, tx) {
      const ids = await idsOf(scope, tx)
      await tx.$executeRaw`DELETE FROM search_news WHERE id = ANY(${ids}::text[])`
      const gone = await forgetWords(tx, ids)
      if (gone.length > 0) {
        if (remembered.size >= mostRemembered) remembered.clear()
        remembered.set(keyOf(scope), gone)
        return plan.length
      }
      // The rows may be gone already: then what they left is found by what no row has.
      const rows = await tx.$queryRaw<unknown[]>`
        SELECT 1 FROM units WHERE id = ANY(${ids}::text[]) UNION ALL SELECT 1 FROM skills WHERE id = ANY(${ids}::text[]) LIMIT 1`
      if (rows.length === 0)
        await tx.$executeRawUnsafe(
          `DELETE FROM search_words w USING (${withoutRow}) AS o WHERE w.scope = o.scope AND w.word = o.word`,
          [...plan],
          null,
        )
      return plan.length
    },
    /** By the index of words, word by word; erase went by the words of the rows themselves. */
    async residue(scope, plan) {
      if (plan.length === 0) return 0
      const gone = remembered.get(keyOf(scope))
      const left = await db.query('words-residue', withoutRow, [plan, gone ? gone.map(({ word }) => word) : null])
      if (left.length === 0) remembered.delete(keyOf(scope))
      return left.length
    },
  }
}
