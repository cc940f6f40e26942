import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { acknowledgeDeltas, type DeltaView, listReceived, readDeltas } from './contract.ts'
import { openPayload } from './payload.ts'
import type { CladePorts } from './ports.ts'
import { lockClade } from './recalling.ts'

interface DeltaRow {
  seq: string
  share_id: string
  state: string
  sender: string | null
  sealed: Buffer | null
  digest: Buffer | null
  manifest: string | null
  shared_at: Date | null
}
const columns = `d.seq::text AS seq, d.share_id, d.state::text AS state, s.agent_id AS sender, s.sealed, s.digest, s.manifest, s.shared_at`
/** Shares of restricted agents, and recalled shares under legal hold, are not delivered. Calls to remove a share are. */
const source = `clade_deltas d LEFT JOIN clade_shares s ON s.id = d.share_id LEFT JOIN agent_states a ON a.id = s.agent_id`
const open = "s.sealed IS NOT NULL AND s.recalled_at IS NULL AND a.restricted_at IS NULL AND a.status <> 'dead'"

/** Delivers shares of siblings to an agent. */
export function cladeDeltas({ db, key, agents }: CladePorts) {
  const viewOf = (row: DeltaRow): DeltaView => {
    const isThere = row.state !== 'recalling' && row.sealed !== null
    return {
      seq: Number(row.seq),
      action: isThere ? 'add' : 'remove',
      share_id: row.share_id,
      from: row.sender,
      payload: isThere && row.sealed ? openPayload(key(), row.share_id, row.sealed) : null,
      digest: row.digest?.toString('base64url') ?? null,
      manifest: row.manifest,
      shared_at: row.shared_at?.toISOString() ?? null,
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
      if (cladeId !== null) await lockClade(tx, [cladeId])
      const rows = await queryWithin<DeltaRow & Record<string, unknown>>(
        tx,
        'clade-deltas-page',
        `SELECT ${columns} FROM ${source} WHERE d.agent_id = $1 AND d.seq > $2
           AND (d.state = 'recalling' OR (d.state = 'pending' AND d.expires_at > $3 AND ${open})) ORDER BY d.seq LIMIT $4`,
        [id, after, now, limit],
      )
      await queryWithin(
        tx,
        'clade-deltas-given',
        "UPDATE clade_deltas SET delivered_at = $2 WHERE seq = ANY($1::bigint[]) AND state = 'pending' AND delivered_at IS NULL",
        [rows.map(({ seq }) => seq), now],
      )
      return { resourceId: id, resourceType: 'agent', details: { count: rows.length }, body: pageOf(rows, after) }
    }),

    acknowledgeDeltas: mutation(
      acknowledgeDeltas,
      async ({ tx, actor, now }, { params: { id }, body: { through } }) => {
        if (actor.kind === 'agent' && !actor.scopes.some((scope) => scope === 'write' || scope === 'admin'))
          throw new Problem('scope_too_small', 'It needs the scope "write".')
        const { cladeId } = await agents.locked(tx, actor, id)
        if (cladeId !== null) await lockClade(tx, [cladeId])
        const delivered = await queryWithin(
          tx,
          'clade-delivered',
          "UPDATE clade_deltas SET state = 'delivered', acknowledged_at = $3 WHERE agent_id = $1 AND seq <= $2 AND state = 'pending' AND delivered_at IS NOT NULL RETURNING 1",
          [id, through, now],
        )
        const removed = await queryWithin(
          tx,
          'clade-removed',
          "UPDATE clade_deltas SET state = 'recalled', acknowledged_at = $3 WHERE agent_id = $1 AND seq <= $2 AND state = 'recalling' RETURNING 1",
          [id, through, now],
        )
        return {
          resourceId: id,
          resourceType: 'agent',
          details: { delivered: delivered.length, removed: removed.length },
          body: { data: { through, delivered: delivered.length, removed: removed.length } },
        }
      },
    ),

    listReceived: read(listReceived, async ({ actor }, { params: { id }, query: { after, limit } }) => {
      await agents.own(actor, id)
      const rows = await db.query<DeltaRow & Record<string, unknown>>(
        'clade-received',
        `SELECT ${columns} FROM ${source} WHERE d.agent_id = $1 AND d.seq > $2 AND d.state = 'delivered' AND ${open} ORDER BY d.seq LIMIT $3`,
        [id, after, limit],
      )
      return { resourceId: id, resourceType: 'agent', details: { count: rows.length }, body: pageOf(rows, after) }
    }),
  }
}
