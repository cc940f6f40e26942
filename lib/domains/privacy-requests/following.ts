import type { Transaction } from '#lib/kernel/context.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { tellAdmins } from './admin-notice.ts'
import { beginErasure } from './erasure-start.ts'
import { conclude, setPart } from './parts.ts'
import type { CopyChange, PrivacyParts, RunChange } from './ports.ts'
import { KindName, lockedRequest, PartStateName, type RequestRow, StateName } from './requests.ts'
import { isClosed } from './rules.ts'
import { change, note, settle, systemWork, type Work } from './timeline.ts'

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)

async function follow(
  tellAdmins: (tx: Transaction) => Promise<void>,
  work: Work,
  given: RequestRow,
  made: RunChange,
): Promise<RequestRow> {
  const again = { event: 'running', to: 'running', details: { run_id: made.runId } } as const
  let row = given
  // A hold ended, or it was tried again.
  if (
    (row.state === 'partly_completed' && made.state !== 'held') ||
    (row.state === 'failed' && made.state !== 'failed')
  )
    row = await change(work, await setPart(work, row, 'erasure', 'running'), again)
  const outcome = { erased: sum(Object.values(made.erased)), held: sum(made.held.map(({ count }) => count)) }
  switch (made.state) {
    case 'erasing':
      return row.state === 'verifying' ? change(work, row, again) : row
    case 'verifying':
      return row.state === 'running'
        ? change(work, row, { event: 'verifying', to: 'verifying', details: outcome })
        : row
    case 'failed':
      await tellAdmins(work.tx)
      return conclude(work, await setPart(work, row, 'erasure', 'failed', outcome))
    case 'held':
    case 'done': {
      const state = made.state === 'held' ? 'partly_done' : 'done'
      const signed = await work.tx.privacyRequest.update({
        where: { id: row.id },
        data: { receiptId: made.receiptId },
        include: { parts: true },
      })
      const holds = made.held.map(({ hold }) => hold).join(',')
      return conclude(work, await setPart(work, signed, 'erasure', state, { ...outcome, receipt_id: made.receiptId }), {
        ...outcome,
        receipt_id: made.receiptId,
        ...(made.state === 'held' && { holds }),
      })
    }
  }
}

/** How a request follows what others do for it: in the very transaction in which they do it. */
export const following = (parts: PrivacyParts) => ({
  /** The engine's run changed. */
  async erasureChanged(tx: Transaction, made: RunChange): Promise<void> {
    const row = made.requestId === null ? undefined : await lockedRequest(tx, made.requestId)
    if (!row) return
    const work = systemWork(tx, made.now, 'erasure')
    await follow((inside) => tellAdmins(parts, inside), work, row, made)
    await settle(parts, work)
  },

  /** A copy is ready, was fetched, is gone, or could not be made. An erasure that waited for it begins. */
  async copyChanged(tx: Transaction, made: CopyChange): Promise<void> {
    const row = await lockedRequest(tx, made.requestId)
    const part = row?.parts.find(({ outcome }) => (outcome as Prisma.JsonObject).export_id === made.exportId)
    if (!row || !part) return
    const work = systemWork(tx, made.now, 'exports')
    const kind = KindName.parse(part.kind)
    const isOver = part.state !== 'running'
    if (made.state === 'failed' && isOver) return
    const state = made.state === 'failed' ? 'failed' : 'done'
    let next = await setPart(work, row, kind, isOver ? PartStateName.parse(part.state) : state, {
      copy: made.state,
      records: made.records,
    })
    if (!isClosed(StateName.parse(row.state)) || made.state === 'ready')
      await note(work, next, {
        event: `copy_${made.state}`,
        details: { export_id: made.exportId, kind },
        isSilent: made.state === 'fetched' || made.state === 'gone',
      })
    next = await beginErasure(parts, work, next)
    await conclude(work, next)
    await settle(parts, work)
  },
})
