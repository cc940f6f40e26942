import './runtime.ts'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { sweepJob } from '#lib/domains/retention/service.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import { runJobs, runJobsAfterReplay } from '#lib/jobs/runner.ts'
import { supervised } from './supervised.ts'

const env = readEnv()
// The queue listens for notifications and holds locks, which a pooler in transaction mode would lose. Jobs may wait longer for a connection
// than requests.
const app = createApp({
  env: { ...env, DATABASE_URL: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL },
  replaysByItself: env.KP_ROLE === 'all',
})
const exporting = await app.exportTelemetry()
const runner = await runJobsAfterReplay((jobs) => runJobs(app.db, app.pipeline, jobs), app.jobs, app.restored)
// The hourly schedule does not make up for sweeps that an installation missed while it was stopped.
await app.db.transaction((tx) => enqueue(tx, sweepJob, {}, { key: `${sweepJob}:start` }))
supervised(async () => {
  await app.retention.stop() // after the current batch; a job of several minutes would exceed the supervisor's timeout
  await runner.stop()
  await exporting.stop()
  await app.close()
})
