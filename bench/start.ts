import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { memoryAtRest, memoryOfTree, type ProcessMemory } from '#lib/testing/process-memory.ts'
import { storeUnit } from './installation.ts'
import type { BenchRow } from './row.ts'
import { withScope } from './scope.ts'
import { freeBenchPort } from './server.ts'

const PATIENCE = 300_000
const FIRST = 75
const SECOND = 3
const AGAIN = 3
const REST = 15_000
const MOST_MEMORY = 350

interface Start {
  said(): string
  /** Seconds from the command to the event. */
  installed: number | undefined
  built: number | undefined
  ready: number
  /** The memory of all processes, some seconds after the start. Empty where /proc is missing. */
  memory(): Promise<ProcessMemory[]>
  /** Signals the foreground process group, like Ctrl-C. Resolves when `npm start` has ended. */
  signal(name: 'SIGINT' | 'SIGKILL'): Promise<void>
}

/** Runs `npm start` as typed in a shell, outside any npm script. */
async function npmStart(folder: string, env: NodeJS.ProcessEnv, url: string): Promise<Start> {
  const started = performance.now()
  const seconds = () => (performance.now() - started) / 1000
  const stamp = join(folder, '.next/knowledgepulse-sources')
  const wasBuilt = existsSync(stamp)
  const child = spawn('npm', ['start'], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  let said = ''
  let installed: number | undefined
  let built: number | undefined
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (installed === undefined && said.includes('Installed in')) installed = seconds()
    })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const signal = async (name: 'SIGINT' | 'SIGKILL') => {
    if (!hasEnded() && child.pid !== undefined) process.kill(-child.pid, name)
    await exited
  }
  const memory = async () => {
    if (process.platform !== 'linux' || child.pid === undefined) return []
    await delay(REST)
    return memoryOfTree(child.pid).filter(({ name }) => !name.startsWith('npm'))
  }
  for (;;) {
    if (!wasBuilt && built === undefined && existsSync(stamp)) built = seconds()
    const isReady = await fetch(`${url}/ready`).then(
      (response) => response.status === 200,
      () => false,
    )
    if (isReady) return { said: () => said, installed, built, ready: seconds(), memory, signal }
    if (hasEnded() || seconds() * 1000 > PATIENCE) {
      await signal('SIGKILL')
      throw new Error(`npm start did not come to serve; it said:\n${said}`)
    }
    await delay(20)
  }
}

const OURS = /^(npm_(?!config_(registry|cache|userconfig)$)|INIT_CWD$|NODE(_OPTIONS|_ENV)?$|KP_|DATABASE_|HOST$)/

/** The environment of a user's shell: without variables of this npm script, and without this project's folders in PATH. */
function shellEnvironment(port: number): NodeJS.ProcessEnv {
  const env = { ...process.env }
  for (const name of Object.keys(env)) if (OURS.test(name)) delete env[name]
  const folders = env.PATH?.split(delimiter) ?? []
  env.PATH = folders.filter((folder) => !/node_modules|node-gyp-bin/.test(folder)).join(delimiter)
  env.PORT = String(port)
  // The ledger of a measured installation stays out of the user's own folders.
  env.XDG_STATE_HOME = join(tmpdir(), 'kp-bench-state')
  env.XDG_DATA_HOME = env.XDG_STATE_HOME
  env.npm_config_prefer_offline = 'true'
  return env
}

const row = (name: string, value: number, least?: number): BenchRow => ({
  name,
  value: Math.round(value * 100) / 100,
  unit: 's',
  ...(least !== undefined && { bar: `at most ${least}`, met: value <= least }),
})

/** RSS and PSS of each Node process and of PostgreSQL, and their sum. */
function memoryRows(processes: readonly ProcessMemory[]): BenchRow[] {
  if (processes.length === 0) return []
  const isDatabase = ({ name }: ProcessMemory) => name.includes('postgres')
  const sum = (of: readonly ProcessMemory[], kind: 'rss' | 'pss') => of.reduce((total, each) => total + each[kind], 0)
  const size = (name: string, value: number): BenchRow => ({ name, value: Math.round(value), unit: 'MiB' })
  const atRest = memoryAtRest(processes)
  return [
    ...processes
      .filter((each) => !isDatabase(each))
      .flatMap(({ name, rss, pss }) => [size(`memory at rest, ${name}: RSS`, rss), size('… PSS', pss)]),
    size('memory at rest, PostgreSQL: PSS', sum(processes.filter(isDatabase), 'pss')),
    size('memory at rest, all processes: PSS', sum(processes, 'pss')),
    {
      ...size('memory at rest after the first start: RSS of the Node processes, PSS of PostgreSQL', atRest),
      bar: `at most ${MOST_MEMORY}`,
      met: atRest <= MOST_MEMORY,
    },
  ]
}

/**
 * Time from a clone of the last commit to a response of GET /ready, and of later starts. Downloads by npm are done
 * before and measured separately, so the first start installs from npm's cache.
 */
export const run = (): Promise<BenchRow[]> => withScope(measureAll)

async function measureAll(scope: AsyncDisposableStack): Promise<BenchRow[]> {
  const home = mkdtempSync(join(tmpdir(), 'kp-start-'))
  scope.defer(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  chmodSync(home, 0o755) // the embedded server's account must be able to enter
  const folder = join(home, 'knowledgepulse')
  execFileSync('git', ['clone', '--quiet', process.cwd(), folder])
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim()
  const port = await freeBenchPort()
  const env = shellEnvironment(port)
  const url = `http://127.0.0.1:${port}`

  const before = performance.now()
  const fetched = spawnSync('node', ['bin/setup.mjs'], { cwd: folder, env, encoding: 'utf8' })
  if (fetched.status !== 0) throw new Error(`the installation failed: ${fetched.stdout}${fetched.stderr}`)
  const download = (performance.now() - before) / 1000
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true })

  const starts: Start[] = []
  scope.defer(async () => {
    await starts.at(-1)?.signal('SIGINT')
  })
  const start = async () => {
    const made = await npmStart(folder, env, url)
    starts.push(made)
    return made
  }
  const first = await start()
  const { installed = 0, built = installed } = first
  const memory = await first.memory()
  const token = /kp_\w+/.exec(readFileSync(join(folder, 'var/first-run.txt'), 'utf8'))?.[0]
  if (!token) throw new Error(`the first start left no token; it said:\n${first.said()}`)
  await first.signal('SIGINT')

  const later: number[] = []
  const afterKill: number[] = []
  let missing = 0
  for (let time = 0; time < AGAIN; time++) {
    const again = await start()
    later.push(again.ready)
    const unitId = await storeUnit(url, token)
    await again.signal('SIGKILL')
    const killed = await start()
    afterKill.push(killed.ready)
    const found = await fetch(`${url}/v1/knowledge/${unitId}`, { headers: { Authorization: `Bearer ${token}` } })
    if (found.status !== 200) missing++
    await killed.signal('SIGINT')
  }
  return [
    row(`fresh clone of ${commit}: install (from npm’s cache)`, installed),
    row('fresh clone: build', built - installed),
    row('fresh clone: serve', first.ready - built),
    row('fresh clone → serving, download time apart', first.ready, FIRST),
    row('the install before it, with what had to be downloaded', download),
    row(`second start → serving (slowest of ${AGAIN})`, Math.max(...later), SECOND),
    row(`start after kill -9 of everything but the database (slowest of ${AGAIN})`, Math.max(...afterKill), SECOND),
    ...memoryRows(memory),
    {
      name: `acknowledged units missing after ${AGAIN} times kill -9`,
      value: missing,
      unit: 'units',
      bar: '0',
      met: missing === 0,
    },
  ]
}
