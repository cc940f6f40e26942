// Proofs about the whole, beside no domain because they are about all of them together: what a domain does by itself is tested in its own folder.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { backupOf } from '#lib/testing/backup.ts'
import { type CrashWorkers, crashWorkers } from '#lib/testing/crash-workers.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { outcomeOf, placesOf } from '#lib/testing/outcome.ts'
import { type MadeSubject, madeSubject, told } from '#lib/testing/subjects.ts'

const secret = 'a secret of thirty-two characters'
const patience = 60_000

interface Copy {
  database: TestDatabase
  dataDir: string
  settings: Record<string, string>
}
let workers: CrashWorkers
let subject: MadeSubject
let holders: string[]
let requestId: string
const copies: Copy[] = []
const folders: string[] = []

/** What a subject's erasure is before its first job: the request is filed, verified, and running. */
let before: { ownerUrl: string; env: TestApp['app']['env']; dataDir: string }
beforeAll(async () => {
  workers = crashWorkers({ spares: 2 })
  const database = await testDatabase()
  const test = await testApp({}, { ...database, drop: async () => {} })
  subject = await madeSubject(test)
  holders = test.app.holders.map(({ name }) => name)
  const filed = await told(test, 'POST', '/api/privacy/requests', {
    cookie: subject.cookie,
    body: { kinds: ['erasure'], grace: 'now', password: subject.password },
  })
  requestId = filed.id
  // Letters so far are handed over, so that only those of the erasure are compared; its own jobs wait.
  await drain(test, { except: ['erasure.start', 'accounts.notify', 'knowledge.novelty'] })
  await test.app.suppressionKeys.current('account', 'of nobody')
  const dataDir = mkdtempSync(join(tmpdir(), 'kp-before-'))
  folders.push(dataDir)
  cpSync(test.dataDir, dataDir, { recursive: true })
  before = { ownerUrl: database.ownerUrl, env: test.app.env, dataDir }
  copies.push({ database, dataDir, settings: {} })
  await test.close()
}, 120_000)
afterAll(async () => {
  await workers.close()
  for (const { database } of copies) await database.drop()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

async function copyOfBefore(): Promise<Copy> {
  const database = await backupOf(before)
  const dataDir = mkdtempSync(join(tmpdir(), 'kp-copy-'))
  folders.push(dataDir)
  cpSync(before.dataDir, dataDir, { recursive: true })
  const settings = {
    ...{ NODE_ENV: 'test', DATABASE_URL: database.appUrl, KP_DATA_DIR: dataDir, KP_LIMITS: 'memory' },
    KP_SECRET: secret,
  }
  const copy = { database, dataDir, settings }
  copies.push(copy)
  return copy
}

/** Nothing of the erasure is left to do: the run is at its end, and what it enqueued, letters among it, is done. */
const over = `SELECT NOT EXISTS (SELECT FROM erasure_runs WHERE state IN ('planning', 'erasing', 'verifying'))
  AND NOT EXISTS (SELECT FROM graphile_worker.jobs WHERE run_at < '2100-01-01') AS over`

/** Lets a worker work until it dies, or all is done. Gives the point of its death. */
const work = (copy: Copy, pass?: readonly string[]): Promise<string | undefined> =>
  withConnection(copy.database.ownerUrl, async (client) => {
    const worker = await workers.start({ settings: copy.settings, ...(pass && { pass }) })
    const death = worker.died.then((point) => ({ point }))
    for (const until = performance.now() + patience; performance.now() < until; ) {
      const dead = await Promise.race([death, delay(40)])
      if (dead?.point) return dead.point
      if (dead) throw new Error('the worker ended by itself')
      const { rows } = await client.query<{ over: boolean }>(over)
      if (!rows[0]?.over) continue
      await worker.kill()
      return undefined
    }
    await worker.kill()
    throw new Error('the worker neither died nor came to an end')
  })

const outcomeIn = ({ database, dataDir }: Copy) => outcomeOf({ ownerUrl: database.ownerUrl, dataDir })

it('one erasure whose worker is killed at every point in turn comes to the outcome of an undisturbed one', async () => {
  const undisturbed = await copyOfBefore()
  const disturbed = await copyOfBefore()
  const started = performance.now()
  expect(await work(undisturbed)).toBeUndefined()
  const passed: string[] = []
  for (let point = await work(disturbed, passed); point !== undefined; point = await work(disturbed, passed))
    passed.push(point)
  console.log(`killed ${passed.length} times in ${Math.round(performance.now() - started)} ms`)

  const points = [
    ...['start.before', 'start.fenced', 'start.planned', 'start.intent', 'start.after'],
    ...holders.flatMap((holder) => ['before', 'inside', 'after'].map((when) => `step.${holder}.${when}`)),
    ...['verify.before', 'verify.committed', 'verify.signed', 'verify.after'],
  ]
  expect(passed.toSorted()).toEqual(points.toSorted())
  const [ours, theirs] = [await outcomeIn(disturbed), await outcomeIn(undisturbed)]
  for (const place of Object.keys({ ...ours, ...theirs })) expect(ours[place], place).toEqual(theirs[place])

  const at = { ownerUrl: disturbed.database.ownerUrl, dataDir: disturbed.dataDir }
  expect(await placesOf(at, [subject.marker])).toEqual({})
  const [run] = JSON.parse(`[${ours.erasure_runs?.join(',')}]`)
  expect(run).toMatchObject({ state: 'done', request_id: requestId, rounds: 0 })
}, 400_000)
