import type { DataHolder } from '#lib/kernel/holder.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { byIndex, chunked, countLeft, holding } from '#lib/stores/postgres/held-rows.ts'

export const exchangeHolder = (db: Database): DataHolder => ({
  name: 'llm-log.entries',
  store: 'postgresql',
  stage: 'content',
  what: 'logged exchanges of agents with language models, looked through before they were written and sealed with the installation’s key',
  purpose: 'so that an agent and its owner can see what was said to a model on their behalf',
  kept: 'for 24 hours, or until the agent or its owner deletes them',
  tables: ['llm_log_entries'],
  inventory: ({ agents }) =>
    holding(
      db,
      'llm-log-held',
      'SELECT count(*)::int AS n, min(created_at) AS since, max(expires_at) AS until FROM llm_log_entries WHERE agent_id = ANY($1::text[])',
      [agents],
    ),
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    await byIndex(tx)
    const rows = await queryWithin<{ id: string }>(
      tx,
      'plan-llm-log',
      'SELECT id FROM llm_log_entries WHERE agent_id = ANY($1::text[])',
      [scope.subject.agents],
    )
    return { items: rows.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    await byIndex(tx)
    const text = 'DELETE FROM llm_log_entries WHERE id = ANY($1::text[]) RETURNING 1'
    return (await queryWithin(tx, 'erase-llm-log', text, [items])).length
  },
  /** By whose they are as well as by their ids. */
  residue: (scope, items) =>
    'subject' in scope
      ? countLeft(db, async (ask) => {
          const { agents } = scope.subject
          await ask('SELECT count(*)::int AS n FROM llm_log_entries WHERE agent_id = ANY($1::text[])', [agents])
          for (const chunk of chunked(items))
            await ask(
              'SELECT count(*)::int AS n FROM llm_log_entries WHERE id = ANY($1::text[]) AND NOT agent_id = ANY($2::text[])',
              [chunk, agents],
            )
        })
      : Promise.resolve(0),
})
