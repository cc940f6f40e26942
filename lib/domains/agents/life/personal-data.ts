import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { preferIndexes, rowsOfAgents } from '#lib/stores/postgres/personal-rows.ts'
import { jsonObject, openedPages, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { bodyOf, type DocumentKeys, titleOf } from './document-seals.ts'
import {
  countRemainingHeartbeats,
  deleteHeartbeatDays,
  exportedDocuments,
  heartbeatDays,
  heartbeatInventory,
} from './repository.ts'
import { heartbeatRecords } from './service.ts'

/** Heartbeats are erased by day: a year of an agent has millions. */
const heartbeatDataSource = (db: Database): DataSource => ({
  name: 'agents.heartbeats',
  store: 'postgresql',
  stage: 'content',
  pageSize: 10,
  what: 'heartbeats of agents, grouped by day: times, states and numbers',
  purpose: 'to show the owner that the agent is running, and in which state',
  kept: 'until 24 hours after the agent is retired',
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
    name: 'agents.documents',
    stage: 'content',
    table: 'agent_documents',
    id: 'id',
    at: 'created_at',
    what: 'strategy theses and playbooks of agents, sealed with the installation’s key',
    purpose: 'to store the strategies of an agent, for the agent and its owner',
    kept: 'until the agent or its owner deletes them, or for the period that the owner sets',
  }),
  heartbeatDataSource(db),
  rowsOfAgents(db, {
    name: 'agents.chain-references',
    stage: 'content',
    table: 'chain_references',
    id: 'id',
    at: 'reported_at',
    what: 'our references to data about agents on public blockchains',
    purpose: 'to show the owner which public data about the agent cannot be erased',
    kept: 'until the agent or its owner deletes them',
    leftBehind: (count) => [
      { what: receiptText('retained', 'blockchain', { count }), ground: receiptText('grounds', 'public') },
    ],
  }),
]

/** Exports an agent's documents, heartbeats and blockchain references. */
export const lifeExporters = (db: Database, keys: DocumentKeys): Exporter[] => [
  {
    part: 'agent_documents',
    bases: ['provided', 'all'],
    tables: ['agent_documents'],
    pages: (agentId, { until }) =>
      openedPages(
        (after) => exportedDocuments(db, { agent: agentId, until, ...after }),
        (row) => ({ at: row.created_at, id: row.id }),
        (row) => ({
          id: row.id,
          kind: row.kind,
          title: titleOf(keys, row),
          body: bodyOf(keys, row),
          revision: row.revision,
          created_at: row.created_at.toISOString(),
          updated_at: row.updated_at.toISOString(),
        }),
      ),
  },
  {
    part: 'heartbeats',
    bases: ['provided', 'all'],
    tables: ['heartbeats'],
    pages: (agentId, { until }) => heartbeatRecords(db, agentId, until),
  },
  {
    part: 'chain_references',
    bases: ['provided', 'all'],
    tables: ['chain_references'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'chain_references r',
        where: 'r.agent_id = $1 AND r.reported_at <= $2',
        values: [agentId, until],
        at: 'r.reported_at',
        id: 'r.id',
        columns: 'r.id, r.chain, r.kind, r.reference, r.reported_at',
        record: jsonObject({
          id: 'c.id',
          chain: 'c.chain',
          kind: 'c.kind',
          reference: 'c.reference',
          reported_at: utc('c.reported_at'),
          is_permanent: 'true',
        }),
      }),
  },
]
