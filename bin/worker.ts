import './runtime.ts'
import { app } from '#lib/app-instance.ts'
import { runJobsAfterReplay } from '#lib/jobs/after-restore.ts'
import { runJobs } from '#lib/jobs/runner.ts'
import { supervised } from './supervised.ts'

const runner = await runJobsAfterReplay((jobs) => runJobs(app.db, app.gate, jobs), app.jobs, app.restored)
supervised(async () => {
  await app.retention.stop() // after the batch under way; a job that may take minutes would outlast our patience
  await runner.stop()
  await app.close()
})
