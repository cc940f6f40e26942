import { enqueueStart, lockedRun, planAgain, type RunRow, runPartOf } from '#lib/domains/erasure/runs/runs.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { EngineDeps } from './dependencies.ts'
import { failingRuns } from './repository.ts'

export const lateWritesJob = 'erasure.overtaken'

type Candidate = Pick<RunRow, 'id' | 'partKind' | 'partId' | 'projectId' | 'conversationId'>
/**
 * Plans redundant smaller runs again once `run` is done, such as the run of a message whose author, conversation or
 * project is now erased. Only runs that failed or keep failing are planned again: they find the remaining records,
 * verify them and sign their own receipt.
 * `run` must still record its subject.
 */
export async function enqueueLateWrites(
  tx: Transaction,
  run: RunRow,
  { parts }: Pick<EngineDeps, 'parts'>,
): Promise<void> {
  const projects = run.projectId === null ? run.projects : [run.projectId]
  const found = await failingRuns(tx, { except: run.id, projects, account: run.accountId, agents: run.agents })
  if (found.length === 0) return
  const ofParts = found.flatMap((one) => runPartOf(one) ?? [])
  const missing = new Set(await parts.missing(tx, ofParts))
  const deleted = ofParts.filter((part) => missing.has(part))
  const isOvertaken = (one: Candidate): boolean => {
    const part = runPartOf(one)
    return (
      part === null ||
      deleted.some(({ kind, id, project }) => kind === part.kind && id === part.id && project === part.project)
    )
  }
  // One job for each run: the lock of a run must be the first lock of a transaction.
  for (const { id } of found.filter(isOvertaken))
    await enqueue(tx, lateWritesJob, { runId: id }, { key: `${lateWritesJob}:${id}` })
}

/** Plans an overtaken run again, unless it continues without help. */
export const planLateWrites = (db: Pick<Database, 'transaction'>, runId: string): Promise<void> =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state === 'planning') return enqueueStart(tx, runId)
    if (run?.state !== 'erasing' && run?.state !== 'failed') return
    await tx.erasureRun.update({ where: { id: runId }, data: { rounds: 0, finishedAt: null } })
    await planAgain(tx, runId)
  })
