import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { listShares, readShare, recallShare, type ShareView } from './contract.ts'
import type { CladePorts } from './ports.ts'
import { recallShares } from './recall/recalling.ts'
import { deliveriesOfShares, type ShareRow, shareOfAgent, sharesPage } from './repository.ts'

const noShare = () => new Problem('not_found', 'This agent has no share with this id.')

async function viewsOf(db: Database, rows: readonly ShareRow[]): Promise<ShareView[]> {
  const states = await deliveriesOfShares(db, { shares: rows.map(({ id }) => id) })
  return rows.map((row) => ({
    share_id: row.id,
    agent_id: row.agent_id,
    entry_id: row.entry_id === row.id ? null : row.entry_id,
    kind: row.kind,
    digest: row.digest.toString('base64url'),
    manifest: row.manifest,
    shared_at: row.shared_at.toISOString(),
    recalled_at: row.recalled_at?.toISOString() ?? null,
    siblings: states
      .filter(({ share_id }) => share_id === row.id)
      .map((one) => ({
        agent_id: one.agent_id,
        state: one.state,
        delivered_at: one.delivered_at?.toISOString() ?? null,
        acknowledged_at: one.acknowledged_at?.toISOString() ?? null,
      })),
  }))
}

/** Lists and recalls the shares of an agent. */
export const cladeShares = ({ db, agents }: CladePorts) => ({
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
