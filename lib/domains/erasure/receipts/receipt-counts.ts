import { addedUp } from '#lib/domains/erasure/runs/run-rules.ts'
import type { StepRow } from '#lib/domains/erasure/runs/runs.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'

type Counted = Pick<StepRow, 'holder' | 'store' | 'results'>

/**
 * Counts derived data by store and treatment, and the texts that a model generated while an erased episode was in its
 * context.
 */
export function derivedOf(steps: readonly Counted[]): Pick<Receipt, 'derived' | 'exposed'> {
  const derived: NonNullable<Receipt['derived']> = []
  for (const [store, ofStore] of Map.groupBy(steps, (step) => step.store)) {
    const { derivedCut = 0, derivedDeleted = 0, derivedJudgedAgain = 0, derivedRetained = 0 } = resultsOf(ofStore)
    if (derivedCut + derivedDeleted + derivedJudgedAgain + derivedRetained === 0) continue
    const [judged_again, retained] = [derivedJudgedAgain, derivedRetained]
    derived.push({ store, cut: derivedCut, deleted: derivedDeleted, judged_again, retained })
  }
  const { exposedMatched = 0, exposedUnmatched = 0 } = resultsOf(steps)
  return {
    ...(derived.length > 0 && { derived }),
    ...(exposedMatched + exposedUnmatched > 0 && {
      exposed: { matched: exposedMatched, unmatched: exposedUnmatched },
    }),
  }
}
const resultsOf = (steps: readonly Counted[]): Record<string, number> => addedUp(steps.map(({ results }) => results))

/** Lists data that an erasure cannot search for words. */
export function notSearchedOf(
  sources: readonly DataSource[],
  steps: readonly Counted[],
): Pick<Receipt, 'not_searched'> {
  const records = steps.flatMap(({ holder, store, results }) =>
    (sources.find(({ name }) => name === holder)?.notSearched?.(results) ?? []).map((one) => ({ store, ...one })),
  )
  return records.length > 0 ? { not_searched: records } : {}
}
