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
const hasResidue = ({ residue }: StepView): boolean => (residue ?? 0) > 0
const isUndecided = ({ fault }: StepView): boolean => fault?.startsWith(undecided) === true

function causeOfStep({ state: run }: RunView, step: StepView): RequestCause | undefined {
  const { state, store, fault } = step
  if (fault?.startsWith(refusal)) return cause('store_refuses', { store, fault: fault.slice(refusal.length) })
  if (isUndecided(step) && (state === 'stuck' || run === 'done')) return cause('thread_undecided', { store })
  if (state === 'stuck') return cause('step_stuck', { store, fault })
  // `unavailable` is no cause of its own: the waits of the run name the store.
  return run === 'done' && fault !== null && fault !== 'unavailable'
    ? cause('search_failed', { store, fault })
    : undefined
}

/** Why planning or verification is stopped. */
function causesOfFault({ state, fault, refusedBy }: RunView): RequestCause[] {
  if (fault === null || fault === 'unavailable') return []
  const why = fault.startsWith(refusal) ? fault.slice(refusal.length) : fault
  return refusedBy.length > 0
    ? refusedBy.map((store) => cause('store_refuses', { store, fault: why }))
    : [cause(state === 'planning' ? 'planning' : 'verification', { fault: why })]
}

/** Why a run that is done still needs its second search, or attention after it. */
function causesOfSearch({ steps, recheckAt }: RunView, now: Date): RequestCause[] {
  const isOverdue = recheckAt !== null && recheckAt.getTime() < now.getTime() - unsearchedAfter
  const isTried = steps.some((step) => step.fault !== null && !isUndecided(step))
  return [
    ...steps.filter((step) => hasResidue(step) && !isUndecided(step)).map(({ store }) => cause('residue', { store })),
    ...(isOverdue && !isTried ? [cause('second_search')] : []),
  ]
}

/** Why the run is not complete, apart from single steps and stores that do not answer. */
function causesOfState(run: RunView, now: Date): RequestCause[] {
  switch (run.state) {
    case 'failed': {
      const found = run.steps.filter(hasResidue).map(({ store }) => cause('residue_left', { store }))
      return found.length > 0 ? found : [cause('verification', { fault: run.fault })]
    }
    case 'held':
      return [cause('legal_hold')]
    case 'planning':
    case 'verifying':
      return causesOfFault(run)
    case 'done':
      return causesOfSearch(run, now)
    case 'erasing':
      return []
  }
}

/** Why a run is not complete or needs attention: codes and stores, each once. */
export function causesOfRun(run: RunView, now: Date): RequestCause[] {
  const all = [
    ...run.waits.map(({ store }) => cause('store_down', { store })),
    ...run.steps.flatMap((step) => causeOfStep(run, step) ?? []),
    ...causesOfState(run, now),
  ]
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]
}

/** A period in which an erasure could not continue, in milliseconds. `to` is infinite until an event ends it. */
export interface Delay {
  code: RequestCause['code']
  from: number
  to: number
}
/** The events of a request that delay an erasure, and those that end the delay. */
const delaying: Partial<Record<string, { code: RequestCause['code']; until: readonly string[] }>> = {
  paused: { code: 'paused', until: ['resumed'] },
  blocked: { code: 'last_admin', until: ['running'] },
  partly_completed: { code: 'legal_hold', until: ['running'] },
  kept_whole: { code: 'legal_hold', until: ['running'] },
  failed: { code: 'step_failed', until: ['running'] },
  copy_failed: { code: 'step_failed', until: ['copy_ready', 'running'] },
}

/** The delays in the timeline of a request that lasted until after `since`. */
export const delaysOf = (events: readonly { event: string; at: Date }[], since: Date): Delay[] =>
  events
    .flatMap(({ event, at }) => {
      const found = delaying[event]
      if (!found) return []
      const ends = events.filter((one) => one.at > at && found.until.includes(one.event))
      return [{ code: found.code, from: at.getTime(), to: Math.min(...ends.map((one) => one.at.getTime())) }]
    })
    .filter(({ to }) => to > since.getTime())

/** The part of a run that took the longest, without the delays: planning, a step or verification. */
function slowest(
  { createdAt, plannedAt, erasedAt, finishedAt, steps }: RunView,
  delays: readonly Delay[],
): RequestCause[] {
  const took = (start: Date | null, end: Date | null): number => {
    if (!start || !end) return 0
    const [from, to] = [start.getTime(), end.getTime()]
    const delayed = delays.map((one) => Math.max(0, Math.min(to, one.to) - Math.max(from, one.from)))
    return delayed.reduce((left, one) => left - one, to - from)
  }
  // If a step began before the newest plan, the run was planned again, and the time from its creation to that plan is not all planning.
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

/** Why an erasure took long: what delayed it, and the part of its run that took the longest. */
export const causesOfDelays = (delays: readonly Delay[], run: RunView | undefined): RequestCause[] => [
  ...[...new Set(delays.map(({ code }) => code))].map((code) => cause(code)),
  ...(run ? slowest(run, delays) : []),
]
