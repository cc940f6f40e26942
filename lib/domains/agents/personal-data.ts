import { countEmptyOrganisations } from '#lib/domains/accounts/queries.ts'
import { dropOrganisationIfEmpty } from '#lib/domains/accounts/writes.ts'
import { authorsUnderLegalHold } from '#lib/domains/knowledge/queries.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { adminChanges, preferIndexes, rowsOfAgents } from '#lib/stores/postgres/personal-tables.ts'
import { jsonObject, openedPages, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { bodyOf, type DocumentKeys, titleOf } from './life/document-seals.ts'
import {
  countRemainingHeartbeats,
  deleteHeartbeatDays,
  exportedDocuments,
  heartbeatDays,
  heartbeatInventory,
} from './life/repository.ts'
import { heartbeatRecords } from './life/service.ts'
import {
  agentInventory,
  countRemainingAgents,
  deleteAgents,
  lockAgentsExclusively,
  lockAgentsOfSubject,
} from './repository.ts'

/** Rows of the agents themselves: name, consent, tier and limits. */
export const agentDataSource = (db: Database): DataSource => ({
  name: 'agents',
  store: 'postgresql',
  stage: 'agent',
  what: 'agents: name, consent, tier and limits; also the organization if the agent is its only member',
  purpose: 'to know who contributes, on which legal ground, and with which permissions',
  kept: 'until the agent is erased, or for 24 hours if its token is never used',
  tables: ['agents'],
  async inventory({ agents }) {
    const [row] = await agentInventory(db, { ids: agents })
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx, now) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const { agents } = scope.subject
    const holdOf = await authorsUnderLegalHold(tx, agents, now)
    const records = await tx.agent.findMany({ where: { id: { in: [...agents] } }, select: { id: true } })
    const retained: Record<string, number> = {}
    for (const { id } of records) {
      const hold = holdOf.get(id)
      if (hold !== undefined) retained[hold] = (retained[hold] ?? 0) + 1
    }
    return { items: records.flatMap(({ id }) => (holdOf.has(id) ? [] : [id])).sort(), held: retained }
  },
  async erase(_scope, items, tx) {
    await lockAgentsExclusively(tx, { ids: items })
    const deleted = await deleteAgents(tx, { ids: items })
    for (const id of [...new Set(deleted.map(({ organisation_id }) => organisation_id))].sort())
      await dropOrganisationIfEmpty(tx, id)
    return deleted.length
  },
  /** Counts remaining agents, and empty organizations that were created for one agent. */
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const ids = [...new Set([...items, ...scope.subject.agents])]
    const [row] = await countRemainingAgents(db, { ids })
    return (row?.n ?? 0) + (await countEmptyOrganisations(db.prisma, ids))
  },
})

/** Exports the agent's own row: its name, consent and settings. */
export const agentExporters = (db: Database): Exporter[] => [
  {
    part: 'agent',
    isShared: true,
    bases: ['provided', 'all'],
    tables: ['agents'],
    pages: (agentId, { basis }) =>
      recordPages(db, {
        from: 'agents a',
        where: 'a.id = $1',
        values: [agentId],
        at: 'a.created_at',
        id: 'a.id',
        columns: 'a.*',
        record: jsonObject({
          agent_id: 'c.id',
          name: 'c.name',
          consent_at: utc('c.consent_at'),
          consent_via: 'c.consent_via',
          consent_withdrawn_at: utc('c.consent_withdrawn_at'),
          created_at: utc('c.created_at'),
          region: 'c.region',
          self_hosted: 'c.self_hosted',
          grimoire_days: 'c.grimoire_days',
          document_days: 'c.document_days',
          ...(basis === 'all' && {
            lawful_basis: 'c.lawful_basis',
            notice_version: 'c.notice_version',
            organisation_id: 'c.organisation_id',
            owner: "'user:' || c.owner_id",
            tier: 'c.tier',
            reads_per_minute: 'c.reads_per_minute',
            writes_per_minute: 'c.writes_per_minute',
            restricted_at: utc('c.restricted_at'),
            restricted_for: 'c.restricted_for',
            suspended_at: utc('c.suspended_at'),
            first_used_at: utc('c.first_used_at'),
            status: 'c.status',
            status_at: utc('c.status_at'),
            died_at: utc('c.died_at'),
            sharing_since: utc('c.sharing_since'),
            clade_id: 'c.clade_id',
          }),
        }),
      }),
  },
]

/** Retained records: who created an invitation. */
export const retainedAgentRecords = (db: Database): RetainedRecord[] => [
  adminChanges(db, {
    name: 'agents.invites',
    what: 'invitations that you created',
    table: 'invites',
    by: ['created_by'],
    at: 'created_at',
  }),
]

/**
 * Locks the subject's agents exclusively: waits for pending writes that refer to them, and their tokens stop working. `andOwned` adds the
 * agents that the account owns. Returns all ids sorted, including named agents that are not stored.
 */
export async function raiseAgentFences(
  tx: Transaction,
  { account, agents }: Subject,
  { andOwned, now }: { andOwned: boolean; now: Date },
): Promise<string[]> {
  const records = await lockAgentsOfSubject(tx, { owner: andOwned ? account : null, ids: agents })
  const ids = [...new Set([...agents, ...records.map(({ id }) => id)])].sort()
  await tx.agent.updateMany({ where: { id: { in: ids }, suspendedAt: null }, data: { suspendedAt: now } })
  return ids
}

/** Creation time of the newest of these agents; null if none is stored. */
export async function newestAgent(tx: Transaction, ids: readonly string[]): Promise<Date | null> {
  const { _max: newest } = await tx.agent.aggregate({ where: { id: { in: [...ids] } }, _max: { createdAt: true } })
  return newest.createdAt
}

/** Splits the stored agents by whether they already existed at that time. */
export async function agentsSince(
  tx: Transaction,
  ids: readonly string[],
  at: Date,
): Promise<{ before: string[]; since: string[] }> {
  const records = await tx.agent.findMany({
    where: { id: { in: [...ids] } },
    select: { id: true, createdAt: true },
    orderBy: { id: 'asc' },
  })
  const idsWhere = (isSince: boolean) =>
    records.filter(({ createdAt }) => createdAt > at === isSince).map(({ id }) => id)
  return { before: idsWhere(false), since: idsWhere(true) }
}

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
