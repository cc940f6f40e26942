// The main database crashes while a worker in its own process erases a person.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type EmbeddedDatabase, startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { prepareDatabase } from '#lib/stores/postgres/preparation.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type CrashWorkers, crashWorkers } from '#lib/testing/crash-workers.ts'
import { drain } from '#lib/testing/jobs.ts'
import { madeSubject, notifiedOf } from '#lib/testing/subjects.ts'

/** Milliseconds. */
const outage = 4_000
const points = ['start.intent', 'step.knowledge.units.inside', 'verify.committed', 'verify.signed']

let workers: CrashWorkers
let folder: string
let server: EmbeddedDatabase
let test: TestApp
beforeAll(async () => {
  workers = crashWorkers({ spares: 0 })
  folder = mkdtempSync(join(tmpdir(), 'kp-database-outage-'))
  chmodSync(folder, 0o755) // the database's account must be able to enter
  server = await startEmbedded(folder)
  const ownerUrl = server.ownerUrl('kp')
  const { appUrl } = await prepareDatabase({ ownerUrl, secret: 'of one test', mayCreateDatabase: true })
  test = await testApp({}, { ownerUrl, appUrl, drop: async () => {} })
}, 120_000)
afterAll(async () => {
  await workers.close()
  await test?.close()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

it('an erasure during which the database crashes at several points finishes without intervention, with a complete receipt', async () => {
  const subject = await madeSubject(test)
  const filed = await notifiedOf(test, 'POST', '/api/privacy/requests', {
    cookie: subject.cookie,
    body: { kinds: ['erasure'], grace: 'now', password: subject.password },
  })
  await drain(test, { except: ['erasure.start', 'accounts.notify', 'knowledge.novelty'] })
  const { env } = test.app
  const worker = await workers.start({
    settings: {
      NODE_ENV: 'test',
      DATABASE_URL: env.DATABASE_URL ?? '',
      KP_DATA_DIR: test.dataDir,
      KP_LIMITS: 'memory',
      KP_SECRET: env.KP_SECRET ?? '',
    },
    halt: points,
  })
  let end: string | undefined
  void worker.died.then((point) => {
    end = point ?? 'no point'
  })
  const until = (isReached: () => Promise<boolean> | boolean) =>
    vi.waitUntil(
      async () => {
        if (end !== undefined) throw new Error(`the worker ended at ${end}`)
        return isReached()
      },
      { timeout: 240_000, interval: 50 },
    )
  for (const [n] of points.entries()) {
    await until(() => worker.noted().length === n + 1)
    process.kill(server.pid, 'SIGQUIT') // immediate shutdown, like a crash
    await server.exited
    worker.resume()
    // Long enough that the queue notices, and that its reports fail meanwhile.
    await delay(outage)
    await server.stop()
    server = await startEmbedded(folder)
  }
  expect(worker.noted().toSorted()).toEqual(points.toSorted())
  const requestState = async () =>
    (await test.db.prisma.privacyRequest.findUnique({ where: { id: filed.id } }).catch(() => null))?.state
  await until(async () => (await requestState()) === 'completed')
  await worker.kill()
  const { receiptId } = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: filed.id } })
  const { status, json } = await test.fetch('GET', `/v1/receipts/${receiptId}`)
  expect([status, json.subject_kind]).toEqual([200, 'account'])
  for (const { found, deleted, residue } of json.stores) expect([deleted, residue]).toEqual([found, 0])
  expect(await test.db.prisma.erasureRun.findMany({ select: { state: true, rounds: true } })).toEqual([
    { state: 'done', rounds: 0 },
  ])
  expect(await test.db.prisma.erasureStep.count({ where: { state: { not: 'done' } } })).toBe(0)
}, 600_000)
