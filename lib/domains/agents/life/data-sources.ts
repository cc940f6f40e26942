import type { DataSource } from '#lib/kernel/data-source.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { preferIndexes, rowsOfAgents } from '#lib/stores/postgres/legal-hold-rows.ts'
import { countRemainingHeartbeats, deleteHeartbeatDays, heartbeatDays, heartbeatInventory } from './repository.ts'

/** Heartbeats are erased by day: a year of an agent has millions. */
const heartbeatDataSource = (db: Database): DataSource => ({
  name: 'agents.heartbeats',
  store: 'postgresql',
  stage: 'content',
  pageSize: 10,
  what: 'heartbeats of agents, counted by the day: times, states and numbers',
  purpose: 'to show its owner that an agent lives, and how it is',
  kept: 'for the agent’s life and 24 hours',
  tables: ['heartbeats'],
  async inventory({ agents }) {
    const [row] = await heartbeatInventory(db, { agents })
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    await preferIndexes(tx)
    const days = await heartbeatDays(tx, { agents: scope.subject.agents })
    return { items: days.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    await preferIndexes(tx)
    const [deleted] = await deleteHeartbeatDays(tx, { days: items })
    return deleted?.n ?? 0
  },
  async residue(scope) {
    if (!('subject' in scope)) return 0
    const { agents } = scope.subject
    const [remaining] = await db.transaction(async (tx) => {
      await preferIndexes(tx)
      return countRemainingHeartbeats(tx, { agents })
    })
    return remaining?.n ?? 0
  },
})

/** Personal data sources of an agent's life: documents, heartbeats and blockchain references. */
export const agentLifeDataSources = (db: Database): DataSource[] => [
  rowsOfAgents(db, {
    ...{ name: 'agents.documents', stage: 'content', table: 'agent_documents', id: 'id', at: 'created_at' },
    what: 'strategy theses and playbooks of agents',
    purpose: 'to keep what an agent works by, for itself and its owner',
    kept: 'until the agent or its owner deletes them',
  }),
  heartbeatDataSource(db),
  rowsOfAgents(db, {
    ...{ name: 'agents.chain-references', stage: 'content', table: 'chain_references', id: 'id', at: 'reported_at' },
    what: 'our notes of what stands on public blockchains about agents',
    purpose: 'to show an agent’s owner which public facts about it nobody can erase',
    kept: 'until the agent or its owner deletes them',
    leftBehind: (count) => ({
      what: receiptText('retained', 'blockchain', { count }),
      ground: receiptText('grounds', 'public'),
    }),
  }),
]
