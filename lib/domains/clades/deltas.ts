import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { acknowledgeDeltas, type DeltaView, listReceived, readDeltas } from './delta-contract.ts'
import { openPayload } from './payload.ts'
import type { CladePorts } from './ports.ts'
import {
  type DeltaRow,
  deltasToDeliver,
  lockClades,
  markAcknowledged,
  receivedShares,
  recordDelivery,
} from './repository.ts'

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
