import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { takeOwnerLock } from '#lib/stores/postgres/owner-lock.ts'

const supervisor = [join(import.meta.dirname, 'start.ts')]
const kpStart = [join(import.meta.dirname, 'kp.ts'), 'start']

/** The output of a start that is rejected before it builds or opens anything. */
async function refusedStart(env: Record<string, string>, command = supervisor, cwd = process.cwd()) {
  const settings = { ...process.env, KP_DATA_DIR: `${tmpdir()}/kp-never-made`, ...env }
  const child = spawn(process.execPath, command, { cwd, env: settings, stdio: ['ignore', 'pipe', 'pipe'] })
  return said(child)
}

async function said(child: ChildProcessByStdio<null, Readable, Readable>) {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
  }
  const [status] = await once(child, 'close')
  return { status, lines: text.trim().split('\n') }
}

test('start names an invalid variable in one line', async () => {
  const { status, lines } = await refusedStart({ PORT: '99999' })
  expect(status).toBe(1)
  expect(lines).toEqual([expect.stringContaining('PORT')])
})

test('start names a store outside the EU in one line before it opens anything', async () => {
  const eu = { KP_RESIDENCY: 'eu', DATABASE_URL: '', KP_REDIS_URL: '', KP_REGIONS: 'files=de@own' }
  const refused = async (more: Record<string, string>) => {
    const { status, lines } = await refusedStart({ ...eu, HOST: '192.0.2.1', PORT: '3000', ...more })
    expect(status).toBe(1)
    return lines
  }
  expect(await refused({ KP_OBJECTS_URL: 's3://bucket?region=eu-west-2' })).toEqual([
    'KP_RESIDENCY: cannot be eu: objects is in eu-west-2@aws, which is in GB, outside the European Economic Area',
  ])
  expect(await refused({ KP_GRAPH_URL: 'bolt://neo4j:a-secret@graph.example:7687' })).toEqual([
    expect.stringMatching(/^KP_RESIDENCY: cannot be eu: the region of graph is not stated; state it in KP_REGIONS/),
  ])
  // With all stores in the EU, the next invalid setting is reported.
  expect(await refused({})).toEqual([expect.stringMatching(/^HOST: 192\.0\.2\.1 is not an address/)])
})

test('start names a port in use in one line, with the command that avoids it', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const address = other.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const { status, lines } = await refusedStart({ PORT: String(port), HOST: '127.0.0.1' })
  other.close()
  expect(status).toBe(1)
  expect(lines).toEqual([expect.stringMatching(new RegExp(`^Port ${port} .* in use.*PORT=${port + 1} npm start$`))])
})

test('a second start names the running process instead of reporting that the port is in use', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kp-second-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o755) // otherwise the database's user could not enter, and its files would be stored elsewhere
  for (const name of ['pgdata', 'run']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'pgdata/PG_VERSION'), '18\n')
  const lock = await takeOwnerLock(join(folder, 'run'))
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  const address = other.address()
  const PORT = String(typeof address === 'object' ? address?.port : 0)
  const { status, lines } = await refusedStart({ PORT, HOST: '127.0.0.1', KP_DATA_DIR: folder, DATABASE_URL: '' })
  await lock.release()
  expect(status).toBe(1)
  expect(lines).toEqual([expect.stringMatching(`^KnowledgePulse is already running here \\(process ${process.pid}\\)`)])
})

test('start names HOST in one line when the address belongs to another machine', async () => {
  const { status, lines } = await refusedStart({ HOST: '192.0.2.1', PORT: '3000' }) // TEST-NET-1 (RFC 5737)
  expect(status).toBe(1)
  expect(lines).toEqual([expect.stringContaining('HOST: 192.0.2.1')])
})

/** Prints the address of each module that the process has loaded when it ends. */
const listModules = `
import { registerHooks } from 'node:module'
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
process.on('exit', () => console.log(loaded.join('\\n')))`

/** Files of this project that a start loads until it rejects its settings, and names of packages. */
async function loadedBy(file: string) {
  const list = `--import=data:text/javascript,${encodeURIComponent(listModules)}`
  const { lines } = await refusedStart({ PORT: '99999' }, [list, file])
  const root = `${pathToFileURL(process.cwd())}/`
  const files = lines.filter((line) => line.startsWith(root)).map((line) => line.slice(root.length))
  const packages = files.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  return { packages, ours: files.filter((path) => !path.startsWith('node_modules/')).sort() }
}

test('the supervisor loads the embedded database and pg, and neither the application nor another package', async () => {
  const { packages, ours } = await loadedBy(join(import.meta.dirname, 'start.ts'))
  expect(packages.filter((name) => !/^(?:pg|postgres|pgpass$|split2$|xtend$)/.test(name))).toEqual([])
  expect(ours).toContain('bin/start.ts')
  expect(ours.filter((file) => !/^bin\/|^lib\/stores\/postgres\/|^lib\/kernel\/error-code\.ts$/.test(file))).toEqual([])
  expect(ours.length).toBeLessThanOrEqual(12)
})

test('the preparation loads nothing that it generates, because a fresh clone does not have it', async () => {
  const { ours } = await loadedBy(join(import.meta.dirname, 'prepare.ts'))
  expect(ours).toContain('lib/platform/installation.ts')
  expect(ours.filter((file) => file.startsWith('generated/'))).toEqual([])
})

describe('kp start', () => {
  test('gives the same errors and exit code as npm start, from any folder', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kp-elsewhere-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const { status, lines } = await refusedStart({ HOST: '192.0.2.1', PORT: '3000' }, kpStart, folder)
    expect(status).toBe(1)
    expect(lines).toEqual([expect.stringContaining('HOST: 192.0.2.1')])
  })

  // Signal handlers can only be observed on Linux.
  test.runIf(process.platform === 'linux')('stops in order on SIGTERM', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const address = other.address()
    const PORT = String(typeof address === 'object' ? address?.port : 0)
    // While it waits for its port, nothing has been built or opened yet.
    const env = { ...process.env, KP_DATA_DIR: `${tmpdir()}/kp-never-made`, HOST: '127.0.0.1', PORT }
    const child = spawn(process.execPath, kpStart, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const told = said(child)
    // Node handles SIGTERM from its start. The supervisor installs its SIGHUP handler last.
    const listens = () => {
      const caught = /^SigCgt:\s*([\da-f]+)$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? '0'
      return (BigInt(`0x${caught}`) & (1n << BigInt(constants.signals.SIGHUP - 1))) !== 0n
    }
    await expect.poll(listens, { timeout: 120_000, interval: 20 }).toBe(true)
    child.kill('SIGTERM')
    expect(await told).toEqual({ status: 0, lines: ['Stopping …'] })
  })
})
