import { appendFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { type App, createApp } from '#lib/app.ts'
import { readEnv } from '#lib/env.ts'
import { freeAbandoned } from '#lib/jobs/abandoned.ts'
import { runJobs } from '#lib/jobs/runner.ts'

/**
 * A worker as in production, of whatever installation it is told, that dies as if by `kill -9` at the first injection point of an
 * erasure that it was not told to pass; before that it notes the point in a file. It loads everything first, says `loaded`, and
 * then waits to be told.
 */
const Told = z.strictObject({
  settings: z.record(z.string(), z.string()),
  /** Points that it passes; undefined: all. */
  pass: z.array(z.string()).optional(),
  /** Points at which it notes the point and halts, once each, until it is sent SIGCONT. It dies at none then. */
  halt: z.array(z.string()).optional(),
  /** Where it notes the point at which it dies. */
  notes: z.string(),
  /** Jobs of the clock that it runs, and how often; no other does. Milliseconds. */
  clock: z.strictObject({ jobs: z.array(z.string()), every: z.number() }).optional(),
  /** How far its time is ahead, in milliseconds. */
  ahead: z.number().default(0),
})
/** What a killed worker held is freed sooner than in production, where nobody waits for it; milliseconds. */
const patience = 300

process.on('disconnect', () => process.exit())
process.once('message', async (message) => {
  const { settings, pass, halt, notes, clock, ahead } = Told.parse(message)
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
  await runJobs(app.db, app.gate, jobs)
  setInterval(() => {
    freeAbandoned(app.db, patience).catch(() => {})
  }, patience)
  while (clock) {
    // The queue survives a fault of a job of the clock.
    for (const job of jobs.filter(({ name }) => clock.jobs.includes(name)))
      await job.execute(app.gate, {}).catch((error: unknown) => {
        if (!halt) throw error
      })
    await delay(clock.every)
  }
})
// A process that is killed would leave nothing of it to those after it.
flushCompileCache()
process.send?.('loaded', undefined, undefined, () => {})

/** Alone: whoever worked before us was killed, and is gone as soon as the server has noticed. */
async function untilNothingIsHeld({ db }: App): Promise<void> {
  const held = 'SELECT count(*)::int AS n FROM graphile_worker.jobs WHERE locked_by IS NOT NULL'
  while (((await db.query<{ n: number }>(undefined, held))[0]?.n ?? 0) > 0) {
    await freeAbandoned(db, 0)
    await delay(5)
  }
}
