import type { Transaction } from '#lib/kernel/context.ts'
import type { DataHolder, Planned, Scope } from '#lib/kernel/holder.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { byIndex, chunked, countLeft, holding, type PlannedRow, plannedOf } from '#lib/stores/postgres/held-rows.ts'
import { holdMembers, holdOf, joinHolds } from '../held.ts'

const planOf = (kind: 'unit' | 'skill'): string => `WITH ${holdMembers(kind, '$2')}
  SELECT t.id, ${holdOf} AS hold FROM ${kind}s t ${joinHolds('t')} WHERE t.agent_id = ANY($1::text[])`
const countLeftOver = `SELECT ((SELECT count(*) FROM search_words WHERE bearer = ANY($1::text[]))
  + (SELECT count(*) FROM search_news WHERE id = ANY($1::text[])))::int AS n`

/** How many rows an agent's own scope has is noted under the agent's id: no word, so no bearer with whom it would go. */
const scopesOf = (agents: readonly string[]): string[] => agents.map((agent) => `agent:${agent}`)
const scopesNoted = `SELECT scope AS id FROM search_words WHERE scope = ANY($1::text[]) AND word = ''`
const countEmptyScopes = `SELECT count(*)::int AS n FROM search_words w WHERE w.scope = ANY($1::text[]) AND w.word = ''
  AND NOT EXISTS (SELECT FROM units u WHERE u.scope = w.scope) AND NOT EXISTS (SELECT FROM skills k WHERE k.scope = w.scope)`

async function planned(scope: Scope, tx: Transaction, now: Date): Promise<Planned> {
  if ('part' in scope) return { items: [], held: {} }
  if ('subject' in scope) {
    await byIndex(tx)
    const values = [scope.subject.agents, now]
    const units = await queryWithin<PlannedRow>(tx, 'plan-words-of-units', planOf('unit'), values)
    const skills = await queryWithin<PlannedRow>(tx, 'plan-words-of-skills', planOf('skill'), values)
    const noted = await queryWithin<{ id: string }>(tx, 'plan-word-scopes', scopesNoted, [
      scopesOf(scope.subject.agents),
    ])
    return plannedOf([...units, ...skills, ...noted.map(({ id }) => ({ id, hold: null }))])
  }
  const rows =
    'unit' in scope
      ? await tx.$queryRaw<{ id: string }[]>`SELECT id FROM units WHERE id = ${scope.unit}`
      : await tx.$queryRaw<{ id: string }[]>`SELECT id FROM skills WHERE id = ${scope.skill}`
  return { items: rows.map(({ id }) => id), held: {} }
}

/**
 * Answers for the table of words. An item is the id of a row whose words go, or an agent's own scope; a plan goes into ledgers, so it never names words. Every word
 * in the table names its bearer and goes with it, which the database sees to by itself: whether one is left is known from the index
 * of bearers alone, at once, in any process, however many words there are.
 */
export const wordsHolder = (db: Database): DataHolder => ({
  name: 'knowledge.words',
  store: 'postgresql',
  stage: 'derived',
  what: 'lists of words by which typing errors in a search are corrected, cleared of its words',
  held: 'the words of units and skills, by which typing errors in a search are corrected',
  purpose: 'finding what was shared also where a word is misspelt',
  kept: 'as long as the unit or skill whose words they are',
  tables: ['search_words', 'search_news'],
  inventory: ({ agents }) =>
    holding(
      db,
      'words-held',
      'SELECT count(*)::int AS n, min(created_at) AS since FROM agent_records WHERE agent_id = ANY($1::text[])',
      [agents],
    ),
  plan: planned,
  async erase(_scope, plan, tx) {
    const ids = [...plan]
    await byIndex(tx)
    // The rows first, then their words, as everybody does: nobody waits crosswise. They may be gone already.
    await tx.$executeRaw`SELECT 1 FROM units WHERE id = ANY(${ids}::text[]) ORDER BY id FOR UPDATE`
    await tx.$executeRaw`SELECT 1 FROM skills WHERE id = ANY(${ids}::text[]) ORDER BY id FOR UPDATE`
    await tx.$queryRaw`SELECT 1 AS done FROM (SELECT forget_words(${ids}::text[])) AS forgotten`
    await tx.$executeRaw`DELETE FROM search_words WHERE scope = ANY(${ids}::text[]) AND word = ''`
    return ids.length
  },
  residue(scope, plan) {
    const ids = [...plan, ...('unit' in scope ? [scope.unit] : 'skill' in scope ? [scope.skill] : [])]
    return countLeft(db, async (ask) => {
      for (const chunk of chunked(ids)) await ask(countLeftOver, [chunk])
      if ('subject' in scope) await ask(countEmptyScopes, [scopesOf(scope.subject.agents)])
    })
  },
})
