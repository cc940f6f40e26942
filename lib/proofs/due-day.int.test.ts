// Many requests on one day, and workers that die: of requests, queue and engine together, so beside no domain. bench/ does it with a thousand.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type CrashWorkers, crashWorkers } from '#lib/testing/crash-workers.ts'
import { aheadOfDueDay, dueDayOf, fileForOneDay, jobsOfDueDay, openOn } from '#lib/testing/due-day.ts'

const count = 8
let test: TestApp
let workers: CrashWorkers
let accounts: string[]
beforeAll(async () => {
  workers = crashWorkers({ spares: 2 })
  test = await testApp()
  accounts = await fileForOneDay(test.app, test.ownerUrl, count)
}, 120_000)
afterAll(async () => {
  await workers.close()
  await test.close()
})

it(`${count} requests due on one day are all carried out by two workers that are killed at random, none late, each with one receipt`, async () => {
  const { DATABASE_URL = '', KP_DATA_DIR, KP_SECRET = '' } = test.app.env
  const settings = { NODE_ENV: 'test', DATABASE_URL, KP_DATA_DIR, KP_SECRET, KP_LIMITS: 'memory' }
  const started = performance.now()
  const killed = await workers.mayhem(
    { settings, clock: jobsOfDueDay, ahead: aheadOfDueDay },
    { from: 1_500, to: 5_000 },
    async () => { const n = await openOn(test.ownerUrl); if (Math.random() < 0.05) console.log(Math.round(performance.now() - started), n, await test.db.query(undefined, 'SELECT state, count(*)::int FROM erasure_steps GROUP BY 1'), await test.db.query(undefined, 'SELECT task_identifier, attempts, locked_by IS NOT NULL AS l, count(*)::int FROM graphile_worker.jobs GROUP BY 1,2,3')); return n === 0 },
  )
  console.info(`${killed} workers were killed in ${Math.round(performance.now() - started)} ms`)
  expect(killed).toBeGreaterThan(0)
  expect(await dueDayOf(test.ownerUrl, accounts)).toEqual({
    ...{ requests: count, open: 0, completed: count, overdue: 0, proven: count, left: 0 },
  })
}, 240_000)
