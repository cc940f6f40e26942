import { z } from 'zod'
import { enqueue } from '#lib/jobs/queue.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import { finishJob, type RecordErasures } from './engine/in-request.ts'
import { lateWritesJob } from './engine/late-writes.ts'
import { recheckJob } from './engine/recheck.ts'
import type { SubjectEngine } from './engine/run-driver.ts'
import type { EngineDeps } from './engine/subject-erasures.ts'
import type { CompleteReadings } from './reading/reading.ts'
import { oldestRunThatCounts, purgeDeletionLog } from './repository.ts'
import { plusYears } from './rules.ts'
import { startJob, stepJob, verifyJob } from './runs/runs.ts'

const readJob = 'erasure.read'
/** Milliseconds after which the `erasure.resume` job continues an unfinished erasure. */
const overdue = 10 * 60_000

/**
 * Deletes the item ids in the ledger once no backup can bring the records back. Without a stated backup period, the
 * items stay as long as the ledger. A long erasure counts from its end.
 */
async function forgetItems(
  { db, ledger, facts }: Pick<EngineDeps, 'db' | 'ledger' | 'facts'>,
  now: Date,
): Promise<void> {
  if (facts.backupDays === undefined) return
  const before = new Date(now.getTime() - facts.backupDays * 86_400_000)
  const [row] = await oldestRunThatCounts(db, { before })
  await ledger.forgetItems(row?.since && row.since < before ? row.since : before)
}

/** Deletes receipts, runs, deletion audit entries and ledger rows after their seven years. */
async function expireErasures(deps: Pick<EngineDeps, 'db' | 'ledger' | 'facts'>, now: Date): Promise<void> {
  const { db, ledger } = deps
  const before = plusYears(now, -7)
  await db.prisma.erasure.deleteMany({ where: { state: 'signed', deletedAt: { lt: before } } })
  await db.prisma.completeReading.deleteMany({ where: { completedAt: { lt: before } } })
  await db.prisma.erasureRun.deleteMany({ where: { state: 'done', finishedAt: { lt: before } } })
  await purgeDeletionLog(db, {})
  await ledger.prune(before)
  await forgetItems(deps, now)
}

export const erasureJobs = (
  { records, runs: subjects, readings }: { records: RecordErasures; runs: SubjectEngine; readings: CompleteReadings },
  expiry: Pick<EngineDeps, 'db' | 'ledger' | 'facts'>,
) => [
  job({
    name: startJob,
    payload: z.strictObject({ runId: z.string() }),
    async run(_ctx, { runId }) {
      await subjects.start(runId)
    },
  }),
  job({
    name: stepJob,
    payload: z.strictObject({ runId: z.string(), holder: z.string() }),
    async run(_ctx, { runId, holder }) {
      await subjects.step(runId, holder)
    },
  }),
  job({
    name: verifyJob,
    payload: z.strictObject({ runId: z.string() }),
    async run(_ctx, { runId }) {
      await subjects.verify(runId)
    },
  }),
  job({
    name: recheckJob,
    payload: z.strictObject({ runId: z.string() }),
    run: (_ctx, { runId }) => subjects.recheck(runId),
  }),
  job({
    name: lateWritesJob,
    payload: z.strictObject({ runId: z.string() }),
    run: (_ctx, { runId }) => subjects.overtaken(runId),
  }),
  job({
    name: 'erasure.recheck',
    payload: z.unknown(),
    cron: '17 * * * *',
    run: () => subjects.recheckAll(),
  }),
  job({
    name: readJob,
    payload: z.unknown(),
    cron: '37 * * * *',
    async run({ pipeline }) {
      if ((await readings.read()) === 'reading')
        await pipeline.transaction((tx) => enqueue(tx, readJob, {}, { key: readJob }))
    },
  }),
  job({
    name: 'erasure.watch',
    payload: z.unknown(),
    cron: '* * * * *',
    run: () => subjects.watch(),
  }),
  job({
    name: 'erasure.resume',
    payload: z.unknown(),
    cron: '* * * * *',
    async run(ctx) {
      // Runs every minute, so that a run that waits for the ledger or a store continues soon after it is available. A
      // run that fails must not block the others; its own job reports the error.
      for (const receiptId of await records.unfinished(new Date(ctx.now.getTime() - overdue)))
        await records.finish(receiptId).catch((error: unknown) => logFault(error, { job: 'erasure.resume', receiptId }))
    },
  }),
  job({
    name: 'erasure.expire',
    payload: z.unknown(),
    cron: '41 3 * * *',
    run: (ctx) => expireErasures(expiry, ctx.now),
  }),
  job({
    name: finishJob,
    payload: z.strictObject({ receiptId: z.string() }),
    async run(_ctx, { receiptId }) {
      await records.finish(receiptId)
    },
  }),
]
