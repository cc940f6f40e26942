import { z } from 'zod'
import { lateWritesJob } from '#lib/domains/erasure/engine/late-writes.ts'
import { recheckJob } from '#lib/domains/erasure/engine/recheck.ts'
import { finishJob, type RecordErasures } from '#lib/domains/erasure/engine/record-erasures.ts'
import type { SubjectEngine } from '#lib/domains/erasure/engine/subject-engine.ts'
import type { CompleteReadings } from '#lib/domains/erasure/reading/reading.ts'
import { startJob, stepJob, verifyJob } from '#lib/domains/erasure/runs/runs.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import { type ErasureExpiryDeps, expireErasures } from './expiry.ts'

const readJob = 'erasure.read'
/** Milliseconds after which the `erasure.resume` job continues an unfinished erasure. */
const overdue = 10 * 60_000

export const erasureJobs = (
  { records, runs: subjects, readings }: { records: RecordErasures; runs: SubjectEngine; readings: CompleteReadings },
  expiry: ErasureExpiryDeps,
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
