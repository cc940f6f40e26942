import type { Prisma } from '#generated/prisma/client.ts'
import { notifyAdmins } from '#lib/domains/privacy-requests/emails/admin-notice.ts'
import type { CopyChange, PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import {
  KindName,
  lockedRequest,
  PartStateName,
  type RequestRow,
  StateName,
  wasFullyRetained,
} from '#lib/domains/privacy-requests/requests.ts'
import { isClosed, stateOfParts, sum } from '#lib/domains/privacy-requests/rules.ts'
import { change, note, type RequestWork, settle, systemWork } from '#lib/domains/privacy-requests/timeline.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { RunChange } from '#lib/kernel/erasure-run.ts'
import { unsuspend } from './cancellation.ts'
import { beginErasure } from './erasure-start.ts'
import { conclude, setPart } from './request-parts.ts'

/** Holds cover the whole subject: nothing was erased, tokens work again, and the erasure waits until the holds end. */
async function setAside(
  deps: PrivacyDeps,
  work: RequestWork,
  given: RequestRow,
  outcome: { erased: number; held: number; holds: string },
): Promise<RequestRow> {
  await unsuspend(deps, work, given)
  const why = { ...outcome, nothing_erased: true, ground: 'legal_obligation' }
  const row = await setPart(work, given, 'erasure', 'partly_done', why)
  if (stateOfParts(row.parts.map(({ state }) => PartStateName.parse(state))) !== 'partly_completed')
    return conclude(work, row, why)
  return row.state === 'partly_completed'
    ? row
    : change(work, row, { event: 'kept_whole', to: 'partly_completed', details: why })
}

async function follow(deps: PrivacyDeps, work: RequestWork, given: RequestRow, made: RunChange): Promise<RequestRow> {
  const again = { event: 'running', to: 'running', details: { run_id: made.runId } } as const
  let row = given
  // A hold ended, or the erasure was retried.
  if (
    (row.state === 'partly_completed' && made.state !== 'held') ||
    (row.state === 'failed' && made.state !== 'failed')
  )
    row = await change(
      work,
      await setPart(
        work,
        row,
        'erasure',
        'running',
        wasFullyRetained(row) ? { nothing_erased: false, ground: null } : {},
      ),
      again,
    )
  const outcome = { erased: sum(Object.values(made.erased)), held: sum(made.held.map(({ count }) => count)) }
  switch (made.state) {
    case 'erasing':
      return row.state === 'verifying' ? change(work, row, again) : row
    case 'verifying':
      return row.state === 'running'
        ? change(work, row, { event: 'verifying', to: 'verifying', details: outcome })
        : row
    case 'failed':
      await notifyAdmins(deps, work.tx)
      return conclude(work, await setPart(work, row, 'erasure', 'failed', outcome))
    case 'held':
    case 'done': {
      const holds = made.held.map(({ hold }) => hold).join(',')
      if (made.isKeptWhole) return setAside(deps, work, row, { ...outcome, holds })
      const state = made.state === 'held' ? 'partly_done' : 'done'
      const kept = made.state === 'held' && { holds }
      const signed = await work.tx.privacyRequest.update({
        where: { id: row.id },
        data: { receiptId: made.receiptId },
        include: { parts: true },
      })
      return conclude(
        work,
        await setPart(work, signed, 'erasure', state, { ...outcome, receipt_id: made.receiptId, ...kept }),
        {
          ...outcome,
          receipt_id: made.receiptId,
          ...kept,
        },
      )
    }
  }
}

/** Updates requests when their erasure or copy changes, in the same transaction as the change. */
export const following = (deps: PrivacyDeps) => ({
  /** Called when the state of an erasure run changes. */
  async erasureChanged(tx: Transaction, made: RunChange): Promise<void> {
    const row = made.requestId === null ? undefined : await lockedRequest(tx, made.requestId)
    if (!row) return
    const work = systemWork(tx, made.now, 'erasure')
    await follow(deps, work, row, made)
    await settle(deps, work)
  },

  /** Called when a copy is ready, was fetched, was deleted or failed. Begins an erasure that waited for it. */
  async copyChanged(tx: Transaction, made: CopyChange): Promise<void> {
    const row = await lockedRequest(tx, made.requestId)
    const part = row?.parts.find(({ outcome }) => (outcome as Prisma.JsonObject).export_id === made.exportId)
    if (!row || !part) return
    const work = systemWork(tx, made.now, 'exports')
    const kind = KindName.parse(part.kind)
    const isOver = part.state !== 'running'
    if (made.state === 'failed' && isOver) return
    const state = made.state === 'failed' ? 'failed' : 'done'
    const tries = Number((part.outcome as Prisma.JsonObject).tries ?? 0) + 1
    let next = await setPart(work, row, kind, isOver ? PartStateName.parse(part.state) : state, {
      copy: made.state,
      records: made.records,
      fault: made.state === 'failed' ? made.fault : null,
      ...(made.state === 'failed' && { tries }),
    })
    // The clock job retries the copy. Admins are notified, because an erasure may wait for the copy; of later failures by the daily email.
    if (made.state === 'failed' && tries === 1) await notifyAdmins(deps, tx)
    if (!isClosed(StateName.parse(row.state)) || made.state === 'ready')
      await note(work, next, {
        event: `copy_${made.state}`,
        details: { export_id: made.exportId, kind },
        isSilent: made.state === 'fetched' || made.state === 'gone' || (made.state === 'failed' && tries > 1),
      })
    next = await beginErasure(deps, work, next)
    await conclude(work, next)
    await settle(deps, work)
  },
})
