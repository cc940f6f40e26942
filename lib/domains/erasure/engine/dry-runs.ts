import { participating } from '#lib/domains/erasure/runs/run-rules.ts'
import { type Explained, type PlannedRecord, timeFor } from '#lib/kernel/data-source.ts'
import type { ExplainedPart, PlannedHolding } from '#lib/kernel/erasure-run.ts'
import type { ProjectPart, Subject } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { StartDeps } from './planning.ts'
import { dryRun, planTargetOf } from './plans.ts'

type DryRunDeps = Pick<StartDeps, 'db' | 'dataSources' | 'holds' | 'subjects'>

/** Returns what an erasure of the part would do with each record. It raises no fence and writes nothing. */
export async function explainPart(
  { db, dataSources, holds }: DryRunDeps,
  part: ProjectPart,
  now: Date,
): Promise<ExplainedPart> {
  const scope = { part }
  const target = await db.transaction((tx) => planTargetOf(tx, scope, holds, now))
  const planned = await dryRun(dataSources, target, db, now)
  const verdicts: PlannedRecord[] = []
  const unanswered = new Set<string>()
  for (const dataSource of dataSources) {
    const explained = await db
      .transaction(async (tx) => dataSource.explain?.(scope, tx, now), timeFor(dataSource))
      .catch((error: unknown): Explained => {
        if (!Problem.is(error, 'unavailable')) throw error
        return { verdicts: [], isPartial: true }
      })
    verdicts.push(...(explained?.verdicts ?? []))
    if (explained?.isPartial) unanswered.add(dataSource.store)
  }
  return { planned, verdicts, unanswered: [...unanswered] }
}

/** Returns what an erasure of the subject would erase. It raises no fence and writes nothing. */
export async function dryRunOf(
  { db, dataSources, holds, subjects }: DryRunDeps,
  subject: Subject,
  now: Date,
): Promise<PlannedHolding[]> {
  const target = await db.transaction(async (tx) => {
    const agents = await subjects.agentsOf(tx, subject)
    const participants = await subjects.participantsOf(tx, subject)
    const whole = { account: subject.account, agents, ...participating(participants) }
    return planTargetOf(tx, { subject: whole }, holds, now)
  })
  return dryRun(dataSources, target, db, now)
}
