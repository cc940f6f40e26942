import { recordIdOf } from '#lib/domains/erasure/runs/run-names.ts'
import type { RecordIntent } from '#lib/stores/ledger/ledger.ts'
import { reason, reinstateRecord, requestedBy } from './reinstatement.ts'
import type { Replay, ReplayDeps } from './replay-report.ts'

/** Erases a unit or skill that exists again. Returns the id of the new receipt, or undefined if it does not exist. */
async function eraseAgain({ scope, ...intent }: RecordIntent, deps: ReplayDeps): Promise<string | undefined> {
  const { db, records, audit, now } = deps
  const receiptId = await db.transaction(async (tx) => {
    const record = await deps.restored(tx, scope, new Date(intent.at))
    if (!record) return undefined
    const { formerOwner } = record
    const wasPublic = record.wasPublic || (intent.wasPublic ?? true)
    const receipt = await records.begin(tx, { scope, formerOwner, requestedBy, reason, wasPublic, now: now() })
    await audit(tx, {
      ...{ action: 'delete', actorId: requestedBy, at: now(), ip: '', details: { receipt } },
      ...{ resourceType: 'unit' in scope ? 'knowledge' : 'skill', resourceId: recordIdOf(scope) },
    })
    return receipt
  })
  if (receiptId !== undefined) await records.finish(receiptId)
  return receiptId
}

/** Erases a unit or skill again, and restores the receipt of its first erasure. */
export async function replayRecord(intent: RecordIntent, report: Replay, deps: ReplayDeps): Promise<void> {
  const again = await eraseAgain(intent, deps)
  if (again !== undefined) {
    report.receipts.push(again)
    report.erased++
  }
  // The backup may predate the erasure: restore its receipt, and reserve its id again.
  if (!(await deps.db.transaction((tx) => reinstateRecord(tx, intent)))) return
  await deps.records.finish(intent.id)
  report.reinstated++
}
