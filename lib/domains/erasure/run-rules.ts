import type { HeldCount, StepState } from '#lib/kernel/erasure-run.ts'
import { type DataHolder, type Part, type Stage, type Subject, stages } from '#lib/kernel/holder.ts'
import type { HoldsInForce } from './subject-erasures.ts'

/** Items of a page, unless its holder says another number: what one transaction of a step erases at most; some 30 ms, so that a commit of others waits no longer for it. */
export const pageSize = 100
/**
 * Milliseconds of rest after a page that took so many: others have their share of the processors, and the erasure has days. Of what was
 * derived most is other servers' work, and it comes first: until it is done, nothing else goes.
 */
export const restAfter = (took: number, stage: Stage): number => took * (stage === 'derived' ? 0.2 : 0.7)
/** Failures of a step after which it is stuck, until it is retried by hand. */
export const mostAttempts = 8
/** An unavailable store is asked again after this many milliseconds, twice as many after each try, and {@link longestRetry} at most, without limit. */
const firstRetry = 1_000
/** At most this many milliseconds pass from the return of a store to the next try. */
export const longestRetry = 30_000
/** Milliseconds of system time until the next try, after so many. */
export const retryStoreAfter = (tries: number): number =>
  Math.min(firstRetry * 2 ** Math.min(Math.max(tries, 1) - 1, 16), longestRetry)
/** Admins are notified of a store for which an erasure has waited for this long, in milliseconds. */
export const alertAfter = 15 * 60_000
/** How long after an erasure stores that others write to are searched once more, in milliseconds. */
export const recheckAfter = 24 * 3_600_000
/** How long after one that could not come to its end. */
export const recheckAgainAfter = 3_600_000
/** How often verification may send a run back before it fails. */
export const mostRounds = 5

/** More holders than a stage will ever have: the position of a step tells its stage. */
const places = 1_000
/** The holders in the order of their turns, each with its position. */
export const inOrder = (holders: readonly DataHolder[]): { holder: DataHolder; position: number }[] =>
  holders
    .map((holder, index) => ({ holder, position: stages.indexOf(holder.stage) * places + index }))
    .sort((one, other) => one.position - other.position)
export const stageAt = (position: number): Stage => stages[Math.floor(position / places)] ?? 'account'

/**
 * Whose turn it is: of the first stage that is not done, the first step of each store that is not done. A stuck one keeps what follows it
 * waiting.
 */
export function dueSteps<S extends { store: string; position: number; state: StepState }>(steps: readonly S[]): S[] {
  const open = steps.filter(({ state }) => state !== 'done').sort((one, other) => one.position - other.position)
  const [first] = open
  if (!first) return []
  const firstOfStore = new Map<string, S>()
  for (const step of open)
    if (stageAt(step.position) === stageAt(first.position) && !firstOfStore.has(step.store))
      firstOfStore.set(step.store, step)
  return [...firstOfStore.values()].filter(({ state }) => state !== 'stuck')
}

/** What a run is about. */
export type RunScope = { subject: Subject } | { part: Part }

export const nobody: Subject = { account: null, agents: [] }
export const isNobody = ({ account, agents, participants = [] }: Subject): boolean =>
  account === null && agents.length === 0 && participants.length === 0
/** The participations as a member to spread, absent where there are none. */
export const participating = (participants: readonly string[] = []): Pick<Subject, 'participants'> =>
  participants.length > 0 ? { participants: [...participants] } : {}

/** Who of the subject may be erased, and whom a hold on themselves keeps. A hold on the person keeps every agent of theirs. */
export function narrowed(
  subject: Subject,
  holds: Omit<HoldsInForce, 'fingerprint'> & { fingerprint?: string },
): { free: Subject; kept: { hold: string; part: Subject }[] } {
  if (holds.account !== null)
    return { free: { account: null, agents: [] }, kept: [{ hold: holds.account, part: subject }] }
  const kept = subject.agents.flatMap((agent) => {
    const hold = holds.agents.get(agent)
    return hold === undefined ? [] : [{ hold, part: { account: null, agents: [agent] } }]
  })
  return {
    free: {
      account: subject.account,
      agents: subject.agents.filter((agent) => !holds.agents.has(agent)),
      ...participating(subject.participants),
    },
    kept,
  }
}

/** Counts by name, of several pages or steps, as one. */
export function addedUp(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const results of counts)
    for (const [name, count] of Object.entries(results)) sum[name] = (sum[name] ?? 0) + count
  return sum
}
/** Counts by the hold's id, of several holders or parts, as one. */
export const heldTogether = (counts: readonly Readonly<Record<string, number>>[]): Record<string, number> =>
  Object.fromEntries(Object.entries(addedUp(counts)).filter(([, count]) => count > 0))
export const heldCounts = (held: Readonly<Record<string, number>>): HeldCount[] =>
  Object.entries(held)
    .map(([hold, count]) => ({ hold, count }))
    .sort((one, other) => (one.hold < other.hold ? -1 : 1))
