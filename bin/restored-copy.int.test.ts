import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readEnv } from '#lib/config/env.ts'
import { openInstallation } from '#lib/platform/installation.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandsOf, sectionOf } from '#lib/testing/guide-walk.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent } from '#lib/testing/people.ts'
import { freeTestPort } from '#lib/testing/ports.ts'
import { memoryAtRest, memoryOfTree } from '#lib/testing/process-memory.ts'
import { trace } from '#lib/testing/units.ts'
import { bundleFolder } from './build.ts'
import { bundle, programs } from './bundle.ts'

const root = join(import.meta.dirname, '..')
/** The checkout in which npm start runs, with its data folder `var`. */
const checkout = mkdtempSync(join(tmpdir(), 'kp-cold-copy-'))
const data = join(checkout, 'var')
const settings = { KP_DATA_DIR: data }
let child: ChildProcess | undefined

beforeAll(async () => {
  for (const folder of ['generated', '.next', 'var']) mkdirSync(join(checkout, folder))
  // The database server runs as another account when the tests run as root.
  for (const folder of [checkout, data]) chmodSync(folder, 0o755)
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  await bundle(join(checkout, bundleFolder), { ...programs, server: 'lib/testing/pageless-server.ts' })
  // This checkout has no sources, so their hash is that of nothing, and nothing is built.
  const hash = createHash('sha256').digest('hex')
  for (const result of ['generated', bundleFolder, '.next'])
    writeFileSync(join(checkout, result, 'knowledgepulse-sources'), hash)
})
afterAll(async () => {
  if (child && child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  rmSync(checkout, { recursive: true, force: true })
})

/** Runs the work on the embedded database of the data folder, and stops the database. */
async function whileRunning<T>(work: (app: TestApp) => Promise<T>): Promise<T> {
  const { appUrl, embedded } = await openInstallation(readEnv({ ...settings }))
  const ownerUrl = embedded?.ownerUrl('kp') ?? ''
  const secret = readFileSync(join(data, 'secret'), 'utf8').trim()
  const app = await testApp({ ...settings, KP_SECRET: secret }, { appUrl, ownerUrl, drop: async () => {} })
  try {
    return await work(app)
  } finally {
    await app.close()
    await embedded?.stop()
  }
}
/** The command of docs/operate.md that copies the files of the stopped database. */
const backup =
  commandsOf(sectionOf('operate.md', '## Back up'))
    .join('')
    .match(/^tar .*$/m)?.[0] ?? ''

test('npm start with a restored copy of the embedded database repeats the erasures before it serves a request', async () => {
  const made = await whileRunning(async (app) => {
    // Creates the folder of objects, as monitoring does.
    await app.fetch('GET', '/ready')
    const reader = await issuedAgent(app, ['read', 'write'])
    const leaving = await issuedAgent(app, ['read', 'write'])
    const contribute = async ({ token }: Issued): Promise<string> =>
      (await app.fetch('POST', '/v1/knowledge', { token, body: trace() })).json.data.id
    return {
      reader,
      leaving,
      erased: await contribute(reader),
      kept: await contribute(reader),
      theirs: await contribute(leaving),
    }
  })
  const { reader, leaving, erased, kept, theirs } = made
  execFileSync('sh', ['-ec', backup], { cwd: checkout })
  const receiptId = await whileRunning(async (app) => {
    expect((await app.fetch('DELETE', `/v1/knowledge/${erased}`, reader)).status).toBe(204)
    const run = await app.db.transaction((tx) =>
      app.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: null, agents: [leaving.id] },
        requestedBy: leaving.id,
        reason: 'user_request',
        now: app.clock.now(),
      }),
    )
    await drain(app)
    expect((await app.app.subjectErasures.run(run.runId))?.state).toBe('done')
    return run.receiptId
  })
  rmSync(join(data, 'pgdata'), { recursive: true })
  execFileSync('tar', ['-C', data, '-xpf', join(checkout, 'kp-backup.tar')])
  expect(existsSync(join(data, 'pgdata/PG_VERSION'))).toBe(true)

  const port = await freeTestPort()
  const { DATABASE_URL: _, DATABASE_MIGRATION_URL: __, ...inherited } = process.env
  const env = { ...inherited, ...settings, NODE_ENV: 'production' as const, HOST: '127.0.0.1', PORT: String(port) }
  const started = spawn(process.execPath, [join(root, 'bin/start.ts')], {
    cwd: checkout,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child = started
  let said = ''
  for (const stream of [started.stdout, started.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  const asked = async (path: string, { token }: Issued) => {
    const address = `http://127.0.0.1:${port}${path}`
    const answer = await fetch(address, { headers: { Authorization: `Bearer ${token}` } }).catch(() => undefined)
    return answer?.status
  }
  /** The start reports `is ready`, or `runs` while something is left to an operator. */
  const hasStarted = () => /KnowledgePulse (?:is ready|runs) on /.test(said)
  const statuses = new Set<number | undefined>()
  for (const deadline = performance.now() + 300_000; !hasStarted() && performance.now() < deadline; await delay(20)) {
    if (started.exitCode !== null) break
    for (const id of [erased, theirs]) statuses.add(await asked(`/v1/knowledge/${id}`, reader))
  }
  expect(said).toContain('KnowledgePulse is ready')
  expect(said.indexOf('replayed erasures: 2 had come back')).toBeGreaterThan(-1)
  expect(said.indexOf('replayed erasures')).toBeLessThan(said.indexOf('KnowledgePulse is ready'))
  // No request was answered from the copy, not even while the processes started.
  expect([...statuses].filter((status) => status !== undefined && ![404, 410].includes(status))).toEqual([])

  const after = [`/v1/knowledge/${erased}`, `/v1/knowledge/${theirs}`, `/v1/knowledge/${kept}`, '/ready']
  expect(await Promise.all(after.map((path) => asked(path, reader)))).toEqual([410, 404, 200, 200])
  expect(await asked('/v1/auth/me', leaving)).toBe(401)
  if (process.platform === 'linux') {
    // 74 and 446 MiB when this was written. The preparation has ended; its memory is free again.
    const processes = memoryOfTree(started.pid ?? 0)
    expect(processes.map(({ name }) => name)).not.toContain('bin/prepare.ts')
    expect(processes.find(({ name }) => name === 'bin/start.ts')?.rss).toBeLessThan(100)
    // What the start and the requests left behind is free again once the processes rest.
    const atRest = () => memoryAtRest(memoryOfTree(started.pid ?? 0))
    await expect.poll(atRest, { timeout: 120_000, interval: 500 }).toBeLessThan(500)
  }
  expect(await asked(`/v1/receipts/${receiptId}`, reader)).toBe(200)
}, 900_000)
