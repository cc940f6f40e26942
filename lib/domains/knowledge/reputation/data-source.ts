import { erasedSubjectOf } from '#lib/domains/knowledge/erasure/subject.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { countRemaining, holding, preferIndexes } from '#lib/stores/postgres/legal-hold-rows.ts'

/** Prefix of items that stand for an agent's total; ids of ledger rows contain no colon. */
const sumOf = 'agent:'

/** Reputation of agents: ledger rows and totals. */
export const reputationDataSource = (db: Database): DataSource => ({
  name: 'knowledge.reputation',
  store: 'postgresql',
  stage: 'content',
  what: 'reputation: what was gained by contributions and votes, and the sums',
  purpose: 'weighing votes by what their voters contributed',
  kept: 'as long as the agent; a gain goes with the unit or skill that it was for',
  tables: ['reputation', 'reputation_ledger'],
  inventory: ({ agents }) =>
    holding(
      db,
      'reputation-held',
      `SELECT (count(*) + (SELECT count(*) FROM reputation WHERE agent_id = ANY($1::text[])))::int AS n, min(at) AS since
       FROM reputation_ledger WHERE agent_id = ANY($1::text[])`,
      [agents],
    ),
  async plan(scope, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await queryWithin<{ id: string }>(
      tx,
      'plan-reputation',
      `SELECT id FROM reputation_ledger WHERE agent_id = ANY($1::text[])
       UNION ALL SELECT '${sumOf}' || agent_id FROM reputation WHERE agent_id = ANY($1::text[])`,
      [subject.agents],
    )
    return { items: rows.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    await preferIndexes(tx)
    const text = 'DELETE FROM reputation_ledger WHERE id = ANY($1::text[]) AND agent_id = ANY($2::text[]) RETURNING 1'
    const rows = await queryWithin(tx, 'erase-ledger', text, [items, subject.agents])
    const sums = items.flatMap((item) => (item.startsWith(sumOf) ? [item.slice(sumOf.length)] : []))
    const whose = sums.filter((id) => subject.agents.includes(id))
    const { count } = await tx.reputation.deleteMany({ where: { agentId: { in: whose } } })
    return rows.length + count
  },
  /** Searches by agent. */
  residue(scope) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return Promise.resolve(0)
    return countRemaining(db, async (ask) => {
      await ask('SELECT count(*)::int AS n FROM reputation_ledger WHERE agent_id = ANY($1::text[])', [subject.agents])
      await ask('SELECT count(*)::int AS n FROM reputation WHERE agent_id = ANY($1::text[])', [subject.agents])
    })
  },
})
