import { type RunView, type StepView, unsearchedAfter } from '#lib/kernel/erasure-run.ts'
import type { RequestCause } from './contract.ts'

const hour = 3_600_000
export const cause = (
  code: RequestCause['code'],
  { store = null, fault = null }: Partial<RequestCause> = {},
): RequestCause => ({
  code,
  store,
  fault,
})

/** Parts of a stored fault: a code, and after the colon the thread or why the store rejects requests. */
const [undecided, refusal] = ['conflict:', 'store_refuses:']

function causeOfStep({ state, store, fault }: StepView): RequestCause | undefined {
  if (fault?.startsWith(refusal)) return cause('store_refuses', { store, fault: fault.slice(refusal.length) })
  if (state !== 'stuck') return undefined
  return fault?.startsWith(undecided) ? cause('thread_undecided', { store }) : cause('step_stuck', { store, fault })
}

/** Why the run as a whole stands still, beside its steps and stores. */
function causesOfState({ state, fault, steps, recheckAt }: RunView, now: Date): RequestCause[] {
  if (state === 'failed') return [cause('verification', { fault })]
  if (state === 'held') return [cause('legal_hold')]
  if (state === 'planning' || state === 'verifying')
    return fault === null || fault === 'unavailable'
      ? []
      : [cause(state === 'planning' ? 'planning' : 'verification', { fault })]
  if (state !== 'done') return []
  const isOverdue = recheckAt !== null && recheckAt.getTime() < now.getTime() - unsearchedAfter
  return [
    ...steps.flatMap(({ store, residue }) => ((residue ?? 0) > 0 ? [cause('residue', { store })] : [])),
    ...(isOverdue ? [cause('second_search')] : []),
  ]
}

/** Why a run is not complete or needs attention: codes and stores, each once. */
export function causesOfRun(run: RunView, now: Date): RequestCause[] {
  const all = [
    ...run.waits.map(({ store }) => cause('store_down', { store })),
    ...run.steps.flatMap((step) => causeOfStep(step) ?? []),
    ...causesOfState(run, now),
  ]
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]
}

/** The part of a run that took the longest: planning, a step or verification. */
export function slowest({ createdAt, plannedAt, erasedAt, finishedAt, steps }: RunView): RequestCause[] {
  const took = (from: Date | null, to: Date | null): number => (from && to ? to.getTime() - from.getTime() : 0)
  // A run that was planned again had begun to erase before.
  const isPlannedOnce = steps.every(
    ({ startedAt }) => startedAt === null || (plannedAt !== null && startedAt >= plannedAt),
  )
  const phases = [
    { took: isPlannedOnce ? took(createdAt, plannedAt) : 0, cause: cause('slow_planning') },
    ...steps.map(({ store, startedAt, finishedAt: to }) => ({
      took: took(startedAt, to),
      cause: cause('slow_step', { store }),
    })),
    { took: took(erasedAt, finishedAt), cause: cause('slow_verification') },
  ]
  const longest = phases.reduce((one, other) => (other.took > one.took ? other : one))
  return longest.took > hour ? [longest.cause] : []
}

/** The events of a request that delay an erasure. */
const delaying = {
  paused: 'paused',
  blocked: 'last_admin',
  partly_completed: 'legal_hold',
  kept_whole: 'legal_hold',
  failed: 'step_failed',
  copy_failed: 'step_failed',
} as const satisfies Record<string, RequestCause['code']>
const isDelaying = (event: string): event is keyof typeof delaying => Object.hasOwn(delaying, event)

/** Why an erasure took long, from the timeline of its request. */
export const delaysOf = (events: readonly { event: string }[]): RequestCause[] =>
  [...new Set(events.flatMap(({ event }) => (isDelaying(event) ? [delaying[event]] : [])))].map((code) => cause(code))
