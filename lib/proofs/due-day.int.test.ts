// Requests, queue and erasure engine together: many requests due on one day, and workers that die. bench/due-day.ts
// runs a thousand requests.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type CrashWorkers, crashWorkers } from '#lib/testing/crash-workers.ts'
import { beforeDueDay, dueDayOf, fileForOneDay, jobsOfDueDay, openOn } from '#lib/testing/due-day.ts'
import { sampledRuns } from '#lib/testing/sampling.ts'

const count = sampledRuns('requests that are due on one day', 12, 4)
let test: TestApp
let workers: CrashWorkers
let accounts: string[]
beforeAll(async () => {
  workers = crashWorkers({ spares: 2 })
  test = await testApp()
  accounts = await fileForOneDay(test.app, test.ownerUrl, count)
}, 600_000)
afterAll(async () => {
  await workers.close()
  await test.close()
})

it('two randomly killed workers complete all requests of one day in time, with one receipt each', async () => {
  const { DATABASE_URL = '', KP_DATA_DIR, KP_SECRET = '' } = test.app.env
  const settings = { NODE_ENV: 'test', DATABASE_URL, KP_DATA_DIR, KP_SECRET, KP_LIMITS: 'memory' }
  const started = performance.now()
  const killed = await workers.mayhem(
    { settings, clock: jobsOfDueDay, ahead: beforeDueDay },
    {},
    async () => (await openOn(test.ownerUrl)) === 0,
  )
  console.info(`${killed} workers were killed in ${Math.round(performance.now() - started)} ms`)
  expect(killed).toBeGreaterThan(0)
  expect(await dueDayOf(test.ownerUrl, accounts)).toEqual({
    requests: count,
    open: 0,
    completed: count,
    overdue: 0,
    proven: count,
    left: 0,
  })
}, 600_000)
