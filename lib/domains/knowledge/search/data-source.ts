import { joinKnowledgeHolds, knowledgeHoldSql, knowledgeHoldsSql } from '#lib/domains/knowledge/erasure/legal-holds.ts'
import { selectedRecords } from '#lib/domains/knowledge/erasure/selected-records.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureScope, Planned } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  countRemaining,
  holding,
  type PlannedRow,
  plannedOf,
  preferIndexes,
} from '#lib/stores/postgres/legal-hold-rows.ts'

const planOf = (kind: 'unit' | 'skill'): string => `WITH ${knowledgeHoldsSql(kind, '$2')}
  SELECT t.id, ${knowledgeHoldSql} AS hold FROM ${kind}s t ${joinKnowledgeHolds('t')} WHERE t.agent_id = ANY($1::text[])`
const planById = (kind: 'unit' | 'skill'): string => `SELECT id, NULL AS hold FROM ${kind}s WHERE id = ANY($1::text[])`
const countLeftOver = `SELECT ((SELECT count(*) FROM search_words WHERE bearer = ANY($1::text[]))
  + (SELECT count(*) FROM search_news WHERE id = ANY($1::text[])))::int AS n`

/** The row count of an agent's private scope is stored under the agent's id. It is not a word, so no bearer's deletion removes it. */
const scopesOf = (agents: readonly string[]): string[] => agents.map((agent) => `agent:${agent}`)
const scopesNoted = `SELECT scope AS id FROM search_words WHERE scope = ANY($1::text[]) AND word = ''`
const countEmptyScopes = `SELECT count(*)::int AS n FROM search_words w WHERE w.scope = ANY($1::text[]) AND w.word = ''
  AND NOT EXISTS (SELECT FROM units u WHERE u.scope = w.scope) AND NOT EXISTS (SELECT FROM skills k WHERE k.scope = w.scope)`

const kinds = ['unit', 'skill'] as const

async function planned(scope: ErasureScope, tx: Transaction, now: Date): Promise<Planned> {
  const rows: PlannedRow[] = []
  for (const kind of kinds) {
    const { agents, ids } = selectedRecords(scope, kind)
    if (agents.length > 0) {
      await preferIndexes(tx)
      rows.push(...(await queryWithin<PlannedRow>(tx, `plan-words-of-${kind}s`, planOf(kind), [agents, now])))
    }
    if (ids.length > 0)
      rows.push(...(await queryWithin<PlannedRow>(tx, `plan-words-of-one-${kind}`, planById(kind), [ids])))
  }
  const { agents } = selectedRecords(scope, 'unit')
  const noted =
    agents.length === 0
      ? []
      : await queryWithin<{ id: string }>(tx, 'plan-word-scopes', scopesNoted, [scopesOf(agents)])
  return plannedOf([...rows, ...noted.map(({ id }) => ({ id, hold: null }))])
}

/**
 * Data source of the word table. An item is the id of a row whose words are deleted, or an agent's private scope; plans are stored in
 * ledgers, so they never contain words. Every word in the table names its bearer, and the database deletes it with the bearer. The index of
 * bearers therefore shows residue immediately in any process, however many words exist.
 */
export const searchWordsDataSource = (db: Database): DataSource => ({
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
    await preferIndexes(tx)
    // Lock the rows first, then their words, in the order used everywhere to avoid deadlocks. The rows may already be deleted.
    await tx.$executeRaw`SELECT 1 FROM units WHERE id = ANY(${ids}::text[]) ORDER BY id FOR UPDATE`
    await tx.$executeRaw`SELECT 1 FROM skills WHERE id = ANY(${ids}::text[]) ORDER BY id FOR UPDATE`
    await tx.$queryRaw`SELECT 1 AS done FROM (SELECT forget_words(${ids}::text[])) AS forgotten`
    await tx.$executeRaw`DELETE FROM search_words WHERE scope = ANY(${ids}::text[]) AND word = ''`
    return ids.length
  },
  async residue(scope, plan) {
    const selected = kinds.map((kind) => selectedRecords(scope, kind))
    const ids = [...new Set([...plan, ...selected.flatMap((one) => one.ids)])]
    const { agents } = selectedRecords(scope, 'unit')
    if (ids.length + agents.length === 0) return 0
    return countRemaining(db, async (ask) => {
      for (const chunk of chunked(ids)) await ask(countLeftOver, [chunk])
      if (agents.length > 0) await ask(countEmptyScopes, [scopesOf(agents)])
    })
  },
})
