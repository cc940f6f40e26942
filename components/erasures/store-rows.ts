import type { RunDetail } from '#lib/domains/privacy-requests/erasures/contract.ts'
import { isUndecided } from './fault-rules.ts'
import type { ErasurePlace } from './place-cards.tsx'

export type ShownSteps = RunDetail['steps']
export type ShownStep = ShownSteps[number]
export type StepProgress = ShownStep['state'] | 'blocked' | 'checked' | 'undecided'

/**
 * Progress of one kind of data. `blocked`: its store does not answer; `undecided`: a thread needs a decision; `checked`: erased, and a
 * second search found no residue.
 */
export const progressOf = ({ state, fault, verified_at, residue, waiting_since }: ShownStep): StepProgress => {
  if (state === 'done') return verified_at !== null && (residue ?? 0) === 0 ? 'checked' : state
  if (isUndecided({ state, fault })) return 'undecided'
  return state !== 'stuck' && waiting_since !== null ? 'blocked' : state
}

/** Records of a step under legal hold. */
export const heldOf = ({ held }: Pick<ShownStep, 'held'>): number => held.reduce((sum, { count }) => sum + count, 0)

const order = ['stuck', 'undecided', 'blocked', 'running', 'waiting', 'done', 'checked'] as const

export interface StoreRow {
  store: string
  /** Records that the store had: those to erase, and those under legal hold. */
  records: number
  erased: number
  /** Records under legal hold, which remain for now. */
  held: number
  state: StepProgress
  steps: ShownStep[]
}

/** The steps by store, in processing order. A store has the least advanced state of its steps. */
export function storeRows(steps: ShownSteps): StoreRow[] {
  const byStore = new Map<string, ShownStep[]>()
  for (const step of steps) byStore.set(step.store, [...(byStore.get(step.store) ?? []), step])
  return [...byStore].map(([store, own]) => {
    const states = own.map(progressOf)
    const first = order.find((state) => states.includes(state)) ?? 'waiting'
    return {
      store,
      records: own.reduce((sum, step) => sum + step.planned + heldOf(step), 0),
      erased: own.reduce((sum, { erased }) => sum + erased, 0),
      held: own.reduce((sum, step) => sum + heldOf(step), 0),
      // Between two steps of a store none is running, but the store has started.
      state: first === 'waiting' && states.some((state) => state === 'done' || state === 'checked') ? 'running' : first,
      steps: own,
    }
  })
}

/** Whether a store had records of the erasure, has them again, or needs attention. The others were searched with no result. */
export const hasWork = ({ records, state, steps }: StoreRow): boolean =>
  records > 0 || steps.some(({ residue }) => (residue ?? 0) > 0) || ['stuck', 'undecided', 'blocked'].includes(state)

/** A row as a place whose records fall to zero. */
export const placeOf = ({ store, records, erased, held, state, steps }: StoreRow): ErasurePlace => ({
  store,
  records,
  remaining: Math.max(held, records - erased),
  held,
  found_again: steps.every(({ verified_at }) => verified_at !== null)
    ? steps.reduce((sum, { residue }) => sum + (residue ?? 0), 0)
    : null,
  waiting_since: steps.find(({ waiting_since }) => waiting_since !== null)?.waiting_since ?? null,
  has_stopped: state === 'stuck' || state === 'undecided',
})

export const resultNames = [
  'episodesDeleted',
  'entitiesDeleted',
  'entitiesPersonal',
  'entitiesUnreferenced',
  'entitiesOrphaned',
  'factsDeleted',
  'factsChanged',
  'factsUnproven',
  'blanked',
  'threads',
  'messages',
  'keys',
  'objects',
] as const
export type ResultName = (typeof resultNames)[number]
/** The other counts of the steps, summed by name, without zeros. */
export const resultsOf = (steps: readonly Pick<ShownStep, 'results'>[]): { name: ResultName; count: number }[] =>
  resultNames
    .map((name) => ({ name, count: steps.reduce((sum, { results }) => sum + (results[name] ?? 0), 0) }))
    .filter(({ count }) => count > 0)
