import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { openArchive } from '#lib/testing/archives.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'

let test: TestApp
let person: Person
let agent: Issued
beforeAll(async () => {
  test = await testApp()
  person = await signedIn(test)
  agent = await issuedAgent(test, ['write'], { owner: person, tier: 'enterprise' })
  await test.db.pool.query(
    `INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, domain, quality_score, created_at, updated_at)
     SELECT 'kp:trace:' || md5($1 || g), 'ReasoningTrace', a.id, a.organisation_id, 'network',
       jsonb_build_object('id', 'kp:trace:' || md5($1 || g), '@type', 'ReasoningTrace', 'text', (SELECT string_agg(md5(g::text || w), ' ') FROM generate_series(1, 60) w)),
       'code', 0.5, $2, $2 FROM agents a, generate_series(1, 20000) g WHERE a.id = $1`,
    [agent.id, test.clock.now()],
  )
})
afterAll(() => test.close())

const folder = () => join(test.dataDir, 'exports')
const filesOf = (id: string) =>
  existsSync(folder()) ? readdirSync(folder()).filter((name) => name.startsWith(id)) : []
const run = async (name: string, payload: unknown = {}): Promise<void> =>
  test.app.jobs.find((job) => job.name === name)?.execute(test.app.pipeline, payload)
const begin = async (): Promise<string> =>
  (await test.fetch('POST', '/api/privacy/exports', { ...person, body: {} })).json.data.id
const look = async (id: string) => (await test.fetch('GET', `/api/privacy/exports/${id}`, person)).json.data
const download = (id: string) =>
  fetch(`${test.url}/api/privacy/exports/${id}/file`, { headers: { Cookie: person.cookie } })
/** Returns the number of unlocked jobs of an export. */
const waiting = async (id: string): Promise<number> =>
  (
    await test.db.pool.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM graphile_worker.jobs WHERE key = $1 AND locked_at IS NULL',
      [`exports.prepare:${id}`],
    )
  ).rows[0]?.n ?? 0

it('a killed worker leaves a partial file and a running export, which the upkeep job restarts and which then completes', async () => {
  const id = await begin()
  // An export reads this table after the units, so the worker cannot finish before it is killed.
  const holding = await test.db.pool.connect()
  // Its end ends its transaction, also after a failure: nothing must wait for the lock then.
  onTestFinished(() => holding.release(true))
  await holding.query('BEGIN; LOCK TABLE agent_documents IN ACCESS EXCLUSIVE MODE')
  const worker = spawn(process.execPath, ['bin/worker.ts'], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      KP_DATA_DIR: test.dataDir,
      KP_LIMITS: 'memory',
      DATABASE_URL: test.app.env.DATABASE_URL ?? '',
      KP_SECRET: test.app.env.KP_SECRET ?? '',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await vi
    .waitUntil(() => filesOf(id).some((name) => statSync(join(folder(), name)).size > 2 ** 20), {
      timeout: 120_000,
      interval: 5,
    })
    .finally(() => worker.kill('SIGKILL'))
  await vi.waitUntil(() => worker.exitCode !== null || worker.signalCode !== null, 120_000)
  await holding.query('ROLLBACK')
  const [half = ''] = filesOf(id)
  expect(half).toMatch(/\.part$/)
  expect(await look(id)).toMatchObject({ state: 'running', bytes: null })
  expect((await download(id)).status).toBe(409)

  await run('exports.upkeep')
  expect(await waiting(id)).toBe(0) // the worker may still be alive
  const then = new Date(Date.now() - 10 * 60_000)
  utimesSync(join(folder(), half), then, then)
  await test.db.pool.query(
    "UPDATE graphile_worker._private_jobs SET locked_at = now() - interval '10 minutes' WHERE locked_at IS NOT NULL",
  )
  test.clock.advance(3 * 60_000)
  await run('exports.upkeep')
  expect(await waiting(id)).toBe(1)
  await run('exports.prepare', { id })
  expect(filesOf(id)).toEqual([expect.stringMatching(/\.zip$/)])
  const { files } = await openArchive(new Uint8Array(await (await download(id)).arrayBuffer()))
  expect(JSON.parse(files[`agents/${agent.id}/knowledge_units.json`] ?? '')).toHaveLength(20_000)
}, 600_000)

it('preparing and downloading use constant memory', async () => {
  setFlagsFromString('--expose-gc')
  const gc = z.function({ input: [], output: z.void() }).implement(runInNewContext('gc'))
  // The second run completes the sweep of the first, which other threads may still execute.
  const held = () => {
    gc()
    gc()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const id = await begin()
  const before = held()
  let [max, isOver] = [0, false]
  const preparing = run('exports.prepare', { id }).finally(() => {
    isOver = true
  })
  // A garbage collection takes up to a second when the files of a test worker share its heap.
  for (; !isOver; await delay(1_000)) max = Math.max(max, held() - before)
  await preparing
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of (await download(id)).body ?? []) {
    hash.update(piece)
    if (bytes % (4 * 2 ** 20) > (bytes + piece.byteLength) % (4 * 2 ** 20)) max = Math.max(max, held() - before)
    bytes += piece.byteLength
  }
  const { sha256, bytes: size } = await look(id)
  expect([hash.digest('hex'), bytes]).toEqual([sha256, size])
  expect(bytes).toBeGreaterThan(16 * 2 ** 20)
  expect(max).toBeGreaterThan(0)
  expect(max).toBeLessThan(24 * 2 ** 20)
}, 600_000)
