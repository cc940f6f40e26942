import type { z } from 'zod'
import { sealedPurposes } from '#lib/config/secret.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdingOf, preferIndexes, rowsOfAgents, sumRemaining } from '#lib/stores/postgres/personal-tables.ts'
import { jsonObject, openedPages, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import {
  acknowledgeDeltas,
  type DeltaView,
  listReceived,
  listShares,
  publishCard,
  readCard,
  readDeltas,
  readShare,
  recallShare,
  type ShareView,
  withdrawCard,
} from './contract.ts'
import type { CladePorts } from './ports.ts'
import {
  countRemainingDeltas,
  type DeltaRow,
  deleteDeltaItems,
  deliveriesOfShares,
  deltaInventory,
  deltaItems,
  deltasToDeliver,
  exportedShares,
  lockClades,
  markAcknowledged,
  publicCard,
  receivedShares,
  recordDelivery,
  type ShareRow,
  shareOfAgent,
  sharesPage,
} from './repository.ts'
import { cladeSharing, openPayload } from './sharing.ts'
import { callBack, cladeJobs, recallShares } from './writes.ts'

const noCard = () => new Problem('not_found', 'This agent has no public performance card.')

/** Performance figures of agents that their owners have published. */
const performanceCards = ({ db, agents }: CladePorts) => ({
  publishCard: mutation(publishCard, async ({ tx, actor, now }, { params: { id: agentId }, body }) => {
    await agents.writable(tx, actor, agentId)
    const { from, until, returns, sharpe, drawdown } = body
    const card = { from, until, returns, sharpe, drawdown, publishedAt: now }
    await tx.performanceCard.upsert({ where: { agentId }, create: { agentId, ...card }, update: card })
    const numbers = { returns, sharpe, drawdown, published_at: now }
    return {
      resourceId: agentId,
      body: { data: { agent_id: agentId, from, until, ...numbers } },
    }
  }),

  readCard: read(readCard, async (_ctx, { params: { id } }) => {
    const [record] = await publicCard(db, { agent: id })
    if (!record) throw noCard()
    const { from, until, returns, sharpe, drawdown, publishedAt } = record
    const numbers = { returns, sharpe, drawdown, published_at: publishedAt }
    return {
      resourceId: id,
      body: { data: { agent_id: id, from, until, ...numbers } },
    }
  }),

  withdrawCard: mutation(withdrawCard, async ({ tx, actor, now }, { params: { id: agentId } }) => {
    await agents.erasable(tx, actor, agentId, now)
    const { count } = await tx.performanceCard.deleteMany({ where: { agentId } })
    if (count === 0) throw noCard()
    return { resourceId: agentId, body: undefined }
  }),
})

/** Delivers shares of siblings to an agent. */
function cladeDeltas({ db, key, agents }: CladePorts) {
  const viewOf = (row: DeltaRow): z.input<typeof DeltaView> => {
    const isThere = row.state !== 'recalling' && row.sealed !== null
    return {
      seq: Number(row.seq),
      action: isThere ? 'add' : 'remove',
      share_id: row.share_id,
      from: row.sender,
      payload: isThere && row.sealed ? openPayload(key(), row.share_id, row.sealed) : null,
      digest: row.digest?.toString('base64url') ?? null,
      manifest: row.manifest,
      shared_at: row.shared_at,
    }
  }
  const pageOf = (rows: readonly DeltaRow[], after: number) => {
    const data = rows.map(viewOf)
    return { data, next_after: data.at(-1)?.seq ?? after }
  }

  return {
    // The delivery is recorded with the read, so that a recall between reading and acknowledging reaches the reader.
    readDeltas: mutation(readDeltas, async ({ tx, actor, now }, { params: { id }, query: { after, limit } }) => {
      const { cladeId } = await agents.locked(tx, actor, id)
      if (cladeId !== null) await lockClades(tx, { ids: [cladeId] })
      const rows = await deltasToDeliver(tx, { agent: id, after: String(after), now, limit })
      await recordDelivery(tx, { seqs: rows.map(({ seq }) => seq), now })
      return { resourceId: id, resourceType: 'agent', details: { count: rows.length }, body: pageOf(rows, after) }
    }),

    acknowledgeDeltas: mutation(
      acknowledgeDeltas,
      async ({ tx, actor, now }, { params: { id }, body: { through } }) => {
        if (actor.kind === 'agent' && !actor.scopes.some((scope) => scope === 'write' || scope === 'admin'))
          throw new Problem('scope_too_small', 'This operation requires a token with the scope "write".')
        const { cladeId } = await agents.locked(tx, actor, id)
        if (cladeId !== null) await lockClades(tx, { ids: [cladeId] })
        const read = { agent: id, through: String(through), now }
        const delivered = await markAcknowledged(tx, read, 'delivered')
        const removed = await markAcknowledged(tx, read, 'recalled')
        return {
          resourceId: id,
          resourceType: 'agent',
          details: { delivered, removed },
          body: { data: { through, delivered, removed } },
        }
      },
    ),

    listReceived: read(listReceived, async ({ actor }, { params: { id }, query: { after, limit } }) => {
      await agents.own(actor, id)
      const rows = await receivedShares(db, { agent: id, after: String(after), limit })
      return { resourceId: id, resourceType: 'agent', details: { count: rows.length }, body: pageOf(rows, after) }
    }),
  }
}

const noShare = () => new Problem('not_found', 'This agent has no share with this id.')

async function viewsOf(db: Database, rows: readonly ShareRow[]): Promise<z.input<typeof ShareView>[]> {
  const states = await deliveriesOfShares(db, { shares: rows.map(({ id }) => id) })
  return rows.map((row) => ({
    share_id: row.id,
    agent_id: row.agent_id,
    entry_id: row.entry_id === row.id ? null : row.entry_id,
    kind: row.kind,
    digest: row.digest.toString('base64url'),
    manifest: row.manifest,
    shared_at: row.shared_at,
    recalled_at: row.recalled_at,
    siblings: states
      .filter(({ share_id }) => share_id === row.id)
      .map((one) => ({
        agent_id: one.agent_id,
        state: one.state,
        delivered_at: one.delivered_at,
        acknowledged_at: one.acknowledged_at,
      })),
  }))
}

/** Lists and recalls the shares of an agent. */
const cladeShares = ({ db, agents }: CladePorts) => ({
  listShares: read(listShares, async ({ actor }, { params: { id }, query: { cursor, limit } }) => {
    const after = parseCursor(cursor)
    await agents.own(actor, id)
    const [rows, total] = await Promise.all([
      sharesPage(db, { agent: id, at: after?.at ?? null, id: after?.id ?? '', limit: limit + 1 }),
      db.prisma.cladeShare.count({ where: { agentId: id } }),
    ])
    const { shown, page } = pageOf(rows, limit, total, ({ shared_at, id }) => ({ at: shared_at, id }))
    return {
      resourceId: id,
      resourceType: 'agent',
      details: { count: shown.length },
      body: {
        data: await viewsOf(db, shown),
        ...page,
      },
    }
  }),

  readShare: read(readShare, async ({ actor }, { params: { id, shareId } }) => {
    await agents.own(actor, id)
    const rows = await shareOfAgent(db, { agent: id, id: shareId })
    const [data] = await viewsOf(db, rows)
    if (!data) throw noShare()
    return { resourceId: shareId, details: { agent_id: id }, body: { data } }
  }),

  recallShare: mutation(recallShare, async ({ tx, actor, now }, { params: { id, shareId } }) => {
    await agents.locked(tx, actor, id)
    const share = await tx.cladeShare.findFirst({ where: { id: shareId, agentId: id }, select: { recalledAt: true } })
    if (!share) throw noShare()
    const { shares, withdrawn, toAcknowledge } = await recallShares(tx, { ids: [shareId], now })
    return {
      resourceId: shareId,
      details: { agent_id: id, count: shares.length, changed: share.recalledAt === null },
      deleted: { count: shares.length },
      body: { data: { share_id: shareId, recalled: shares, withdrawn, to_acknowledge: toAcknowledge } },
    }
  }),
})

/** Siblings of one ancestor: sharing stripped entries, recalling them, and the public performance card. */
const cladesService = (ports: CladePorts) => ({
  ...cladeSharing(ports),
  ...cladeShares(ports),
  ...cladeDeltas(ports),
  ...performanceCards(ports),
})

interface Keys {
  keyFor(purpose: string): () => Uint8Array
}

export const cladesData = ({ db, keyFor }: Keys & { db: Database }): PersonalData => ({
  dataSources: cladeDataSources(db),
  exporters: cladeExporters(db, keyFor(sealedPurposes.clades)),
})

/** Deltas that a sibling has not fetched expire after 7 days. */
const cladesEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'clades.unfetched',
    "SELECT expires_at AS ends FROM clade_deltas WHERE state = 'pending' AND delivered_at IS NULL",
  ),
]

/** Sharing between related agents of one owner. */
export const cladesModule = ({
  keyFor,
  origin,
  ownAgents,
  signer,
  ...deps
}: Keys &
  Pick<CladePorts, 'db' | 'namesOf' | 'recognise' | 'entriesOf'> & {
    origin: string
    ownAgents: Omit<CladePorts['agents'], 'writable'> & { sharing: CladePorts['agents']['writable'] }
    signer: { attest: CladePorts['sign'] }
  }) => ({
  useCases: {
    clades: cladesService({
      ...deps,
      key: keyFor(sealedPurposes.clades),
      issuer: origin,
      // Self-hosted agents may also share here.
      agents: { ...ownAgents, writable: ownAgents.sharing },
      sign: signer.attest,
    }),
  },
  jobs: cladeJobs(),
  checks: cladesEvidence(),
})

/** Siblings get an order to remove the erased shares. The orders belong to the siblings and outlive the share. */
function shareDataSource(db: Database): DataSource {
  const rows = rowsOfAgents(db, {
    name: 'clades.shares',
    stage: 'content',
    table: 'clade_shares',
    id: 'id',
    at: 'shared_at',
    what: 'entries shared with siblings: redacted, sealed with the installation’s key, and recalled from siblings when they are deleted',
    purpose: 'to let agents of the same owner learn from each other',
    kept: 'until they are recalled. The record of a recall is kept for another 30 days',
  })
  return {
    ...rows,
    async erase(scope, items, tx, options) {
      if (!('subject' in scope) || items.length === 0) return 0
      if (!options) throw new TypeError('The erasure of shares requires options.')
      await preferIndexes(tx)
      await recallShares(tx, { ids: items, now: options.now })
      await callBack(tx, items)
      return rows.erase(scope, items, tx, options)
    },
  }
}

/** Items are `<agent>/<share>`, because a recall changes the delta number. An agent id contains no slash. */
const deltaDataSource = (db: Database): DataSource => ({
  name: 'clades.deltas',
  store: 'postgresql',
  stage: 'content',
  tables: ['clade_deltas'],
  what: 'delivery records of shares from siblings: ids, states and times',
  purpose: 'to deliver shares, and to recall them from every sibling',
  kept: 'until 30 days after the share is recalled, or after it expires because nobody fetched it for 7 days',
  inventory: async ({ agents }) => holdingOf(await deltaInventory(db, { agents })),
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await deltaItems(tx, { agents: scope.subject.agents })
    return { items: rows.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    await preferIndexes(tx)
    return deleteDeltaItems(tx, { items })
  },
  residue: (scope) =>
    'subject' in scope
      ? sumRemaining(db, async function* (on) {
          yield await countRemainingDeltas(on, { agents: scope.subject.agents })
        })
      : Promise.resolve(0),
})

const cardDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    name: 'clades.cards',
    stage: 'content',
    table: 'performance_cards',
    id: 'agent_id',
    at: 'published_at',
    what: 'performance cards: results of agents that their owners published',
    purpose: 'to show the performance of an agent to others, if its owner wants that',
    kept: 'until the agent or its owner withdraws them',
  })

/** Deltas that agents received, shares that they sent, and their public cards. */
const cladeDataSources = (db: Database): DataSource[] => [deltaDataSource(db), shareDataSource(db), cardDataSource(db)]

/** Shares that an agent sent and received, and its public card. */
const cladeExporters = (db: Database, key: () => Uint8Array): Exporter[] => [
  {
    part: 'clade_shares',
    bases: ['provided', 'all'],
    tables: ['clade_shares'],
    pages: (agentId, { until }) =>
      openedPages(
        (after) => exportedShares(db, { agent: agentId, until, ...after }),
        (row) => ({ at: row.shared_at, id: row.id }),
        (row) => ({
          share_id: row.id,
          entry_id: row.entry_id === row.id ? null : row.entry_id,
          kind: row.kind,
          payload: row.sealed === null ? null : openPayload(key(), row.id, row.sealed),
          manifest: row.manifest,
          shared_at: row.shared_at,
          recalled_at: row.recalled_at,
        }),
      ),
  },
  {
    part: 'clade_deltas',
    bases: ['all'],
    tables: ['clade_deltas'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'clade_deltas d',
        where: 'd.agent_id = $1 AND d.created_at <= $2',
        values: [agentId, until],
        at: 'd.created_at',
        id: 'd.share_id',
        columns: 'd.share_id, d.state, d.created_at, d.delivered_at, d.acknowledged_at',
        record: jsonObject({
          share_id: 'c.share_id',
          state: 'c.state',
          created_at: utc('c.created_at'),
          delivered_at: utc('c.delivered_at'),
          acknowledged_at: utc('c.acknowledged_at'),
        }),
      }),
  },
  {
    part: 'performance_cards',
    bases: ['provided', 'all'],
    tables: ['performance_cards'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'performance_cards p',
        where: 'p.agent_id = $1 AND p.published_at <= $2',
        values: [agentId, until],
        at: 'p.published_at',
        id: 'p.agent_id',
        columns: 'p.from_at, p.until_at, p.returns, p.sharpe, p.drawdown, p.published_at',
        record: jsonObject({
          from: utc('c.from_at'),
          until: utc('c.until_at'),
          returns: 'c.returns',
          sharpe: 'c.sharpe',
          drawdown: 'c.drawdown',
          published_at: utc('c.published_at'),
        }),
      }),
  },
]
