import { readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Logger, runOnce } from 'graphile-worker'
import type { App } from '#lib/app.ts'
import { countPendingJobs, runJobsNow } from '#lib/jobs/queue.ts'
import type { Clock } from '#lib/kernel/context.ts'

const hour = 3_600_000
/** Interval of the frequent jobs: short enough for grace periods of a day. */
const step = 12 * hour
/** Jobs that advance the story at each step or every day. The worker runs them every minute or hour. */
const atEachStep = ['privacy.clock', 'exports.upkeep', 'erasure.watch']
const daily = ['accounts.digest', 'projects.close', 'retention.sweep', 'accounts.upkeep', 'agents.purge-unused']
/** Jobs that run once more at the end, so that nothing expired waits for the first hour of a worker. */
const cleaning = ['retention.sweep', 'accounts.upkeep']
/** Interval of all other jobs in days. They find little to delete. */
const tidyEvery = 10
const maxRounds = 500
const silent = new Logger(() => () => {})

export interface WorkOptions {
  /** Jobs that remain in the queue. */
  except?: readonly string[]
  /** The application that runs the jobs. By default the story's own. */
  by?: Pick<App, 'jobs' | 'pipeline'>
  /** Failing jobs are retried as often as the queue allows. */
  mayFail?: boolean
}
export type MovableClock = Clock & { advance(milliseconds: number): void }

/** Emails are dated by system time. This sets the dates of new ones to the time of the story. */
function datedLetters(folder: string, known: Set<string>, at: Date): void {
  for (const name of readdirSync(folder, { withFileTypes: true }).map((entry) => entry.name)) {
    if (known.has(name) || !name.endsWith('.eml')) continue
    const path = join(folder, name)
    const text = readFileSync(path, 'latin1').replace(
      /^Date: .*$/m,
      `Date: ${at.toUTCString().replace('GMT', '+0000')}`,
    )
    const dated = `${at.toISOString().replaceAll(':', '-')}${name.slice('2026-01-01T00-00-00.000Z'.length)}`
    writeFileSync(path, text, 'latin1')
    renameSync(path, join(folder, dated))
    utimesSync(join(folder, dated), at, at)
    known.add(dated)
  }
}

/** Advances time: the application's own jobs do the scheduled and queued work at the time of the story. */
export function history(app: App, clock: MovableClock) {
  const emails = join(app.env.KP_DATA_DIR, 'mail')
  const known = new Set<string>()
  let nextStep = clock.now().getTime() + step
  let day = ''
  let days = 0

  async function waiting(names: readonly string[]): Promise<number> {
    const [counted] = await countPendingJobs(app.db, { names })
    return counted?.n ?? 0
  }

  /** Runs the queue until it is empty. */
  async function work({ except = [], by = app, mayFail = false }: WorkOptions = {}): Promise<void> {
    const jobs = by.jobs.filter(({ name }) => !except.includes(name))
    const names = jobs.map(({ name }) => name)
    let fault: unknown
    const taskList = Object.fromEntries(
      jobs.map((job) => [
        job.name,
        async (payload: unknown) => {
          await job.execute(by.pipeline, payload).catch((error: unknown) => {
            fault ??= error
            throw error
          })
        },
      ]),
    )
    for (let round = 0; (await waiting(names)) > 0; round++) {
      if (round === maxRounds) throw new Error('the queue does not become empty')
      await runJobsNow(app.db, { names })
      await runOnce({ pgPool: app.db.pool, taskList, noHandleSignals: true, concurrency: 1, logger: silent })
      if (fault !== undefined && !mayFail) throw fault
    }
    await app.mail.folder.prepare()
    datedLetters(emails, known, clock.now())
  }

  async function tick(options: WorkOptions = {}): Promise<void> {
    const today = clock.now().toISOString().slice(0, 10)
    const isNewDay = today !== day
    if (isNewDay) days++
    day = today
    const isDue = (name: string) =>
      atEachStep.includes(name) || (isNewDay && (daily.includes(name) || days % tidyEvery === 0))
    for (const job of app.jobs) if (job.cron !== undefined && isDue(job.name)) await job.execute(app.pipeline, {})
    await work(options)
  }
  const advanceTo = (time: number): void => clock.advance(Math.max(0, time - clock.now().getTime()))

  return {
    work,
    /** Moves the clock and runs everything that becomes due. */
    async moveTo(at: Date): Promise<void> {
      for (; nextStep <= at.getTime(); nextStep += step) {
        advanceTo(nextStep)
        await tick()
      }
      advanceTo(at.getTime())
    },
    /** Runs the jobs that delete expired data. */
    async tidy(): Promise<void> {
      for (const job of app.jobs) if (cleaning.includes(job.name)) await job.execute(app.pipeline, {})
    },
    /** Moves the clock by milliseconds and runs the scheduled jobs. */
    async later(milliseconds: number, options: WorkOptions): Promise<void> {
      clock.advance(milliseconds)
      await tick(options)
    },
  }
}
export type History = ReturnType<typeof history>
