import { appendFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { type App, createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { freeAbandoned, runJobs } from '#lib/jobs/runner.ts'

/**
 * A production worker for a given installation that dies as if by `kill -9` at the first injection point of an erasure
 * outside `pass`. It first writes the point to a file. It loads all modules, sends `loaded` and waits for a message.
 */
const Reported = z.strictObject({
  settings: z.record(z.string(), z.string()),
  /** Points that it passes. Undefined: all. */
  pass: z.array(z.string()).optional(),
  /** Points at which it writes the point and halts, once each, until SIGCONT. It then never dies. */
  halt: z.array(z.string()).optional(),
  /** The file for the point of its death. */
  notes: z.string(),
  /** The scheduled jobs that it runs, and their interval in milliseconds. It runs no others. */
  clock: z.strictObject({ jobs: z.array(z.string()), every: z.number() }).optional(),
  /** How far its clock is ahead, in milliseconds. */
  ahead: z.number().default(0),
})
/** Jobs of a killed worker are freed sooner than in production; milliseconds. */
const patience = 300

process.on('disconnect', () => process.exit())
process.once('message', async (message) => {
  const { settings, pass, halt, notes, clock, ahead } = Reported.parse(message)
  const passed = pass && new Set(pass)
  const halts = new Set(halt)
  const interrupt = (point: string) => {
    if (halts.delete(point)) {
      appendFileSync(notes, `${point}\n`)
      process.kill(process.pid, 'SIGSTOP')
    }
    if (!passed || passed.has(point)) return
    appendFileSync(notes, `${point}\n`)
    process.kill(process.pid, 'SIGKILL')
  }
  const app = createApp({ env: readEnv(settings), clock: { now: () => new Date(Date.now() + ahead) }, interrupt })
  const jobs = app.jobs.map((job) => ({ ...job, cron: undefined }))
  if (passed) await untilNothingIsHeld(app)
  await runJobs(app.db, app.pipeline, jobs)
  setInterval(() => {
    freeAbandoned(app.db, patience).catch(() => {})
  }, patience)
  while (clock) {
    // A failing scheduled job does not stop the queue.
    for (const job of jobs.filter(({ name }) => clock.jobs.includes(name)))
      await job.execute(app.pipeline, {}).catch((error: unknown) => {
        if (!halt) throw error
      })
    await delay(clock.every)
  }
})
// A killed process would not write its compile cache.
flushCompileCache()
process.send?.('loaded', undefined, undefined, () => {})

/** Waits until no job is locked. Earlier workers were killed; the server frees their jobs once it notices. */
async function untilNothingIsHeld({ db }: App): Promise<void> {
  const held = 'SELECT count(*)::int AS n FROM graphile_worker.jobs WHERE locked_by IS NOT NULL'
  while (((await db.query<{ n: number }>(undefined, held))[0]?.n ?? 0) > 0) {
    await freeAbandoned(db, 0)
    await delay(5)
  }
}
