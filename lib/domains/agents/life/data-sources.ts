import type { DataSource } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { countRemaining, holding, preferIndexes, rowsOfAgents } from '#lib/stores/postgres/legal-hold-rows.ts'

const day = "to_char(h.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
/** Splits `<agent>/<day>`; agent ids never contain a slash. */
const ofDays = `FROM unnest($1::text[]) AS i JOIN heartbeats h ON h.agent_id = split_part(i, '/', 1)
  AND h.at >= (split_part(i, '/', 2) || 'T00:00:00Z')::timestamptz
  AND h.at < (split_part(i, '/', 2) || 'T00:00:00Z')::timestamptz + interval '24 hours'`

/** Heartbeats are erased by day: a year of an agent has millions. */
const heartbeatHolder = (db: Database): DataSource => ({
  name: 'agents.heartbeats',
  store: 'postgresql',
  stage: 'content',
  pageSize: 10,
  what: 'heartbeats of agents, counted by the day: times, states and numbers',
  purpose: 'to show its owner that an agent lives, and how it is',
  kept: 'for the agent’s life and 24 hours',
  tables: ['heartbeats'],
  inventory: ({ agents }) =>
    holding(
      db,
      'heartbeats-held',
      `SELECT count(DISTINCT (h.agent_id, ${day}))::int AS n, min(h.at) AS since FROM heartbeats h WHERE h.agent_id = ANY($1::text[])`,
      [agents],
    ),
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await queryWithin<{ id: string }>(
      tx,
      'plan-heartbeats',
      `SELECT DISTINCT h.agent_id || '/' || ${day} AS id FROM heartbeats h WHERE h.agent_id = ANY($1::text[])`,
      [scope.subject.agents],
    )
    return { items: rows.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    await preferIndexes(tx)
    const [gone] = await queryWithin<{ n: number }>(
      tx,
      'erase-heartbeats',
      `WITH gone AS (DELETE FROM heartbeats h WHERE h.seq IN (SELECT h.seq ${ofDays}) RETURNING h.agent_id || '/' || ${day} AS id)
       SELECT count(DISTINCT id)::int AS n FROM gone`,
      [items],
    )
    return gone?.n ?? 0
  },
  residue: (scope) =>
    'subject' in scope
      ? countRemaining(db, (ask) =>
          ask('SELECT count(*)::int AS n FROM heartbeats WHERE agent_id = ANY($1::text[])', [scope.subject.agents]),
        )
      : Promise.resolve(0),
})

/** Personal data sources of an agent's life: documents, heartbeats and blockchain references. */
export const agentLifeDataSources = (db: Database): DataSource[] => [
  rowsOfAgents(db, {
    ...{ name: 'agents.documents', stage: 'content', table: 'agent_documents', id: 'id', at: 'created_at' },
    what: 'strategy theses and playbooks of agents',
    purpose: 'to keep what an agent works by, for itself and its owner',
    kept: 'until the agent or its owner deletes them',
  }),
  heartbeatHolder(db),
  rowsOfAgents(db, {
    ...{ name: 'agents.chain-references', stage: 'content', table: 'chain_references', id: 'id', at: 'reported_at' },
    what: 'our notes of what stands on public blockchains about agents',
    purpose: 'to show an agent’s owner which public facts about it nobody can erase',
    kept: 'until the agent or its owner deletes them',
    leftBehind: (count) => ({
      what: `what ${count === 1 ? 'one note' : `${count} notes`} of ours named on public blockchains: it stands there, and was never ours to erase`,
      ground: 'public ledger; nobody can erase it',
    }),
  }),
]
