import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { crashWorkers } from '#lib/testing/crash-workers.ts'
import { beforeDueDay, type DueDay, dueDayOf, fileForOneDay, jobsOfDueDay, openOn } from '#lib/testing/due-day.ts'
import { type Cluster, startCluster } from './installation.ts'
import type { BenchRow } from './row.ts'
import { withScope } from './scope.ts'

interface DueDaySizes {
  requests: number
  /** Requests of the day without kills, for comparison. */
  calm: number
  /** The shortest and the longest initial life of a worker, in milliseconds. */
  lives: { from: number; to: number }
}
const full: DueDaySizes = { requests: 1_000, calm: 100, lives: { from: 1_000, to: 20_000 } }

interface Day extends DueDay {
  killed: number
  seconds: number
}

/** Number of requests due on one day, which two workers carry out. */
async function day(
  scope: AsyncDisposableStack,
  cluster: Cluster,
  requests: number,
  lives: DueDaySizes['lives'] | undefined,
): Promise<Day> {
  const { env, ownerUrl } = await cluster.open(lives ? 'killed' : 'calm')
  const settings = { ...env, NODE_ENV: 'production' }
  const app = createApp({ env: readEnv(settings) })
  scope.defer(() => app.close())
  const accounts = await fileForOneDay(app, ownerUrl, requests)
  const workers = crashWorkers({ spares: lives ? 1 : 0 })
  scope.defer(() => workers.close())
  const started = performance.now()
  const killed = await workers.mayhem(
    { settings, clock: jobsOfDueDay, ahead: beforeDueDay },
    lives ?? { from: 3_600_000, to: 3_600_001 },
    async () => (await openOn(ownerUrl)) === 0,
  )
  const seconds = (performance.now() - started) / 1000
  return { ...(await dueDayOf(ownerUrl, accounts)), killed, seconds }
}

/** A thousand requests that are due on one day, with killed workers. */
export const run = (): Promise<BenchRow[]> => withScope((scope) => measureDueDay(scope))

/** A day with many due requests and two workers that are killed at random and replaced, compared with a day without kills. */
async function measureDueDay(scope: AsyncDisposableStack, given: Partial<DueDaySizes> = {}): Promise<BenchRow[]> {
  const { requests, calm, lives } = { ...full, ...given }
  const cluster = await startCluster(scope)
  const undisturbed = await day(scope, cluster, calm, undefined)
  const disturbed = await day(scope, cluster, requests, lives)
  const { completed, overdue, proven, left, killed, seconds } = disturbed
  const name = `${requests.toLocaleString('en')} requests due on one day`
  return [
    {
      name: `${name}, two workers, ${killed} of them killed`,
      value: (requests / seconds) * 60,
      unit: 'a minute',
      ceiling: { name: `two workers, nobody killed, ${calm} requests`, value: (calm / undisturbed.seconds) * 60 },
    },
    { name: `${name}: overdue`, value: overdue, unit: 'requests', bar: '0', met: overdue === 0 },
    {
      name: `${name}: completed with exactly one receipt and one entry in the deletion log`,
      value: Math.min(completed, proven),
      unit: 'requests',
      bar: String(requests),
      met: completed === requests && proven === requests,
    },
    { name: `${name}: rows of the people that are left`, value: left, unit: 'rows', bar: '0', met: left === 0 },
  ]
}
