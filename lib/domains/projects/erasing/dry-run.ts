import type { PlannedRecord } from '#lib/kernel/data-source.ts'
import type { SubjectErasures } from '#lib/kernel/erasure-run.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { PartPlan } from './contract.ts'
import { totalsOf } from './plan-totals.ts'

/** Maximum number of decisions that a dry run lists. The others are only counted. */
const mostVerdicts = 5_000

const kindsOfRows = new Set<string>(['conversation', 'document', 'message'])
/** Ids of rows are returned without their scope prefix. */
const shownVerdict = (verdict: PlannedRecord): PlannedRecord =>
  verdict.store === 'postgresql' && kindsOfRows.has(verdict.kind) ? { ...verdict, id: shownId(verdict.id) } : verdict

/** The answer to a dry run. Lists untouched records first, so that the limit does not hide them. */
export function planView({ planned, verdicts, unanswered }: Awaited<ReturnType<SubjectErasures['explain']>>): PartPlan {
  const { untouched = [], deleted = [], changed = [], kept = [] } = Object.groupBy(verdicts, ({ verdict }) => verdict)
  return {
    planned: planned.map(({ held, results: _, ...holding }) => ({
      ...holding,
      held: held.reduce((total, { count }) => total + count, 0),
    })),
    verdicts: [...untouched, ...deleted, ...changed, ...kept].slice(0, mostVerdicts).map(shownVerdict),
    omitted: Math.max(0, verdicts.length - mostVerdicts),
    totals: totalsOf(verdicts),
    unanswered,
    counts: {
      deleted: deleted.length,
      kept: kept.length,
      changed: changed.length,
      untouched: untouched.length,
    },
  }
}
