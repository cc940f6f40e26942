import type { Transaction } from '#lib/kernel/context.ts'
import type { DataHolder, Scope } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

const idsOf = async (scope: Scope, tx: Transaction): Promise<string[]> => {
  const rows =
    'subject' in scope
      ? await tx.$queryRaw<{ id: string }[]>`
          SELECT id FROM agent_records WHERE agent_id = ANY(${[...scope.subject.agents]}::text[]) ORDER BY 1`
      : 'unit' in scope
        ? await tx.$queryRaw<{ id: string }[]>`SELECT id FROM units WHERE id = ${scope.unit}`
        : await tx.$queryRaw<{ id: string }[]>`SELECT id FROM skills WHERE id = ${scope.skill}`
  return rows.map(({ id }) => id)
}

/**
 * Answers for the table of words. An item is the id of a row whose words go; a plan goes into ledgers, so it never names words. Every word
 * in the table names its bearer and goes with it, which the database sees to by itself: whether one is left is known from the index
 * of bearers alone, at once, in any process, however many words there are.
 */
export const wordsHolder = (db: Database): DataHolder => ({
  name: 'knowledge.words',
  store: 'postgresql',
  what: 'lists of words by which typing errors in a search are corrected, cleared of its words',
  tables: ['search_words', 'search_news'],
  plan: async (scope, tx) => ({ items: await idsOf(scope, tx), held: {} }),
  async erase(_scope, plan, tx) {
    const ids = [...plan]
    // The rows first, then their words, as everybody does: nobody waits crosswise. They may be gone already.
    await tx.$executeRaw`SELECT 1 FROM units WHERE id = ANY(${ids}::text[]) ORDER BY id FOR UPDATE`
    await tx.$executeRaw`SELECT 1 FROM skills WHERE id = ANY(${ids}::text[]) ORDER BY id FOR UPDATE`
    await tx.$queryRaw`SELECT 1 AS done FROM (SELECT forget_words(${ids}::text[])) AS forgotten`
    return ids.length
  },
  async residue(scope, plan) {
    const ids = 'subject' in scope ? plan : [...plan, 'unit' in scope ? scope.unit : scope.skill]
    const [left] = await db.query<{ n: number }>(
      'words-residue',
      `SELECT ((SELECT count(*) FROM search_words WHERE bearer = ANY($1::text[]))
             + (SELECT count(*) FROM search_news WHERE id = ANY($1::text[])))::int AS n`,
      [ids],
    )
    return left?.n ?? 0
  },
})
