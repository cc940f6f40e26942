import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readEnv } from '#lib/config/env.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { freeTestPort } from './ports.ts'

/** Milliseconds until a start counts as failed. A busy machine needs many times the usual 50. */
const DEADLINE = 120_000

export interface TestRedis {
  url: string
  port: number
  pid: number
  /** Kills it immediately. Safe to repeat. */
  stop(): Promise<void>
}

/** Whether the process on the port answers a PING. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    const end = (isUp: boolean) => {
      resolve(isUp)
      socket.destroy()
    }
    socket.setTimeout(1000, () => end(false))
    socket.once('data', (bytes) => end(bytes.toString().startsWith('+PONG'))).once('error', () => end(false))
  })
}

async function launch(args: string[]): Promise<ChildProcess | undefined> {
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  const failure = await new Promise<Error | undefined>((done) =>
    child.once('spawn', () => done(undefined)).once('error', done),
  )
  if (failure === undefined) return child
  if (errorCode(failure) !== 'ENOENT') throw failure
  if (readEnv().KP_REQUIRE_SERVICES) {
    throw new Error('redis-server is not installed, and KP_REQUIRE_SERVICES asks for it')
  }
  return undefined
}

/** Whether redis-server is installed, for `describe.skipIf`. @throws under KP_REQUIRE_SERVICES when it is not */
export async function isRedisInstalled(): Promise<boolean> {
  const child = await launch(['--version'])
  if (child) await once(child, 'exit')
  return child !== undefined
}

/** Starts redis-server with these arguments on the port. Its files are in `folder`, which is removed with it. */
async function startOn(port: number, folder: string, args: string[]): Promise<TestRedis | undefined> {
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const child = await launch(args)
  if (child?.pid === undefined) {
    remove()
    return undefined
  }
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = once(child, 'exit')
  const deadline = performance.now() + DEADLINE
  while (child.exitCode !== null || !(await answers(port))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      kill()
      remove()
      throw new Error(`redis-server did not come up on port ${port}`)
    }
    await delay(20)
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: child.pid,
    async stop() {
      process.off('exit', kill)
      kill()
      await ended
      remove()
    },
  }
}

/**
 * Starts a real, empty redis-server for this run, on a free port or the given one. Undefined when none is installed;
 * an error instead under KP_REQUIRE_SERVICES.
 */
export async function startRedis(given?: number, more: readonly string[] = []): Promise<TestRedis | undefined> {
  const port = given ?? (await freeTestPort())
  // Redis loads an existing file when it starts, and a replica writes one. Its own folder keeps it empty.
  const folder = mkdtempSync(join(tmpdir(), 'kp-redis-'))
  const unsaved = ['--save', '', '--appendonly', 'no', '--dir', folder]
  return startOn(port, folder, ['--bind', '127.0.0.1', '--port', String(port), ...unsaved, ...more])
}

/** Starts a Sentinel that watches the primary on a port under the name `primary`, in a quorum of two. */
export async function startSentinel(primary: number): Promise<TestRedis | undefined> {
  const port = await freeTestPort()
  const folder = mkdtempSync(join(tmpdir(), 'kp-sentinel-'))
  const config = join(folder, 'sentinel.conf')
  const settings = ['down-after-milliseconds primary 1000', 'failover-timeout primary 4000']
  writeFileSync(
    config,
    ['bind 127.0.0.1', `port ${port}`, `dir ${folder}`, `sentinel monitor primary 127.0.0.1 ${primary} 2`]
      .concat(settings.map((one) => `sentinel ${one}`))
      .join('\n'),
  )
  return startOn(port, folder, [config, '--sentinel'])
}
