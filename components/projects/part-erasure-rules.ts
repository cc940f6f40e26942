import { erasurePollInterval, type Run } from '#components/erasures/endpoints.ts'
import { isStuck, isUndecided } from '#components/erasures/fault-rules.ts'

export type PartErasureSaying = Run['state'] | 'stuck' | 'undecided' | 'waiting' | 'doneLate'
/** The headline of an erasure. A stuck step has precedence, because it needs a person to continue. */
export function partErasureSayingOf({
  state,
  steps,
  waits_for: waits,
  late_found: late,
}: Pick<Run, 'state' | 'steps' | 'waits_for' | 'late_found'>): PartErasureSaying {
  if (state === 'done') return late > 0 ? 'doneLate' : 'done'
  if (state === 'failed' || state === 'held') return state
  if (steps.some(isStuck)) return 'stuck'
  if (steps.some(isUndecided)) return 'undecided'
  return waits.length > 0 ? 'waiting' : state
}

/** Milliseconds until the next poll; false if nothing changes any more. Longer if a person or a legal hold has to act first. */
export function paceOf(run: Pick<Run, 'state' | 'steps' | 'waits_for' | 'late_found' | 'receipt_id'>): number | false {
  if (run.state === 'done') return run.receipt_id === null ? erasurePollInterval : false
  return ['stuck', 'undecided', 'held', 'failed'].includes(partErasureSayingOf(run))
    ? erasurePollInterval * 10
    : erasurePollInterval
}
