import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { enqueue } from './queue.ts'
import { freeAbandoned, runJobs } from './runner.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

const held = async (): Promise<(string | null)[]> =>
  (
    await test.db.query<{ locked_by: string | null }>(
      undefined,
      "SELECT locked_by FROM graphile_worker.jobs WHERE task_identifier = 'test.wait' ORDER BY id",
    )
  ).map(({ locked_by }) => locked_by)

it('freeAbandoned keeps the jobs of a live worker and frees those of a dead one, which another worker then runs', async () => {
  const finishing: (() => void)[] = []
  let runs = 0
  const waiting = job({
    name: 'test.wait',
    payload: z.unknown(),
    run: () => {
      runs++
      return new Promise<void>((done) => {
        finishing.push(done)
      })
    },
  })
  await test.db.transaction((tx) => enqueue(tx, 'test.wait', {}))
  const runner = await runJobs(test.db, test.app.pipeline, [waiting])
  await vi.waitUntil(() => runs === 1, 120_000)
  const isLocked =
    "SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = (hashtext('graphile_worker')::bigint & 4294967295)::oid"
  await vi.waitUntil(async () => (await test.db.pool.query(isLocked)).rowCount === 1, 120_000)
  expect(await freeAbandoned(test.db, 0)).toBe(0)
  expect(await held()).not.toContain(null)

  await test.db.query(
    undefined,
    "INSERT INTO graphile_worker._private_jobs (task_id, locked_at, locked_by) SELECT id, now(), 'worker-gone' FROM graphile_worker._private_tasks WHERE identifier = 'test.wait'",
  )
  expect(await freeAbandoned(test.db, 60_000), 'not before its time').toBe(0)
  expect(await freeAbandoned(test.db, 0)).toBe(1)
  await vi.waitUntil(() => runs === 2, 120_000)
  for (const finish of finishing) finish()
  await runner.stop()
})
