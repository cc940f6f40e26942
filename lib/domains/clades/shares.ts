import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { listShares, readShare, recallShare, type ShareView } from './contract.ts'
import type { CladePorts } from './ports.ts'
import { recallShares } from './recalling.ts'
import type { DeltaState, SharedKind } from './rules.ts'

interface ShareRow {
  id: string
  agent_id: string
  entry_id: string
  kind: SharedKind
  digest: Buffer
  manifest: string
  shared_at: Date
  recalled_at: Date | null
}
interface StateRow {
  share_id: string
  agent_id: string
  state: DeltaState
  delivered_at: Date | null
  acknowledged_at: Date | null
}
const shareColumns = 's.id, s.agent_id, s.entry_id, s.kind, s.digest, s.manifest, s.shared_at, s.recalled_at'
const noShare = () => new Problem('not_found', 'There is no such share of this agent.')

async function viewsOf(db: Database, rows: readonly ShareRow[]): Promise<ShareView[]> {
  const states = await db.query<StateRow & Record<string, unknown>>(
    'clade-share-states',
    `SELECT share_id, agent_id, state::text AS state, delivered_at, acknowledged_at FROM clade_deltas
     WHERE share_id = ANY($1::text[]) ORDER BY agent_id`,
    [rows.map(({ id }) => id)],
  )
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
    const place = parseCursor(cursor)
    await agents.own(actor, id)
    const [rows, total] = await Promise.all([
      db.query<ShareRow & Record<string, unknown>>(
        'clade-shares-page',
        `SELECT ${shareColumns} FROM clade_shares s WHERE s.agent_id = $1 AND (s.shared_at, s.id) < ($2::timestamptz, $3)
         ORDER BY s.shared_at DESC, s.id DESC LIMIT $4`,
        [id, place?.at ?? 'infinity', place?.id ?? '', limit + 1],
      ),
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
    const rows = await db.query<ShareRow & Record<string, unknown>>(
      'clade-share',
      `SELECT ${shareColumns} FROM clade_shares s WHERE s.id = $1 AND s.agent_id = $2`,
      [shareId, id],
    )
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
