import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { findEmbedded } from '#lib/stores/postgres/embedded.ts'
import { attempt, type LoadAttempt, tookOf } from './attempt.ts'
import { childrenOf } from './cpu.ts'
import { contributeTarget, readTarget, registerBenchAgent } from './installation.ts'
import type { LoadTarget } from './load.ts'
import { type BenchRow, noneRow } from './row.ts'
import { withScope } from './scope.ts'
import { answers, freeBenchPort } from './server.ts'

const CONNECTIONS = 20
const SECOND = 1_000
/** The duration of the load before a fault, and after the database is back. */
const QUIET = 3 * SECOND
const OUTAGE = 6 * SECOND
const TIMES = 2
/** How long a refused client waits before it tries again. */
const PAUSE = 50
/** The bars, in seconds. */
const REFUSED = 2
const BACK = 15
/** Longer than any outage here. */
const PATIENCE = 60 * SECOND

interface Supervised {
  url: string
  ownerUrl: string
  /** The process that restarts the others. */
  supervisor: number
  /** The folder of the database's files. */
  dataFolder: string
}

/** `npm start` with its own database in the temporary folder: the supervisor, which restarts the database, the server and the worker. */
async function startSupervised(scope: AsyncDisposableStack): Promise<Supervised> {
  const home = mkdtempSync(join(tmpdir(), 'kp-faults-'))
  chmodSync(home, 0o755) // the database's account must be able to enter
  scope.defer(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  const port = await freeBenchPort()
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, ['bin/start.ts'], {
    // Reports of the outage are not part of the measurement.
    stdio: 'ignore',
    env: {
      PATH,
      HOME,
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: String(port),
      KP_DATA_DIR: home,
      XDG_STATE_HOME: home,
      XDG_DATA_HOME: home,
    },
  })
  const exited = once(child, 'exit')
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  scope.defer(async () => {
    if (!hasEnded()) child.kill('SIGTERM')
    await exited
  })
  const url = `http://127.0.0.1:${port}`
  await answers(`${url}/ready`, hasEnded, 10 * 60 * SECOND)
  const ownerUrl = (await findEmbedded(home)).ownerUrl('kp')
  const dataFolder = await withConnection(ownerUrl, async (owner) => {
    const { rows } = await owner.query<{ data_directory: string }>('SHOW data_directory')
    return rows[0]?.data_directory ?? ''
  })
  return { url, ownerUrl, supervisor: child.pid ?? 0, dataFolder }
}

const postmasterOf = ({ dataFolder }: Supervised): number =>
  Number(readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8').split('\n')[0])

/** Stops the processes, the first one before the others, while the work runs. */
async function frozenWhile(pids: readonly number[], work: () => Promise<void>): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  try {
    await work()
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}

interface Targets {
  read: LoadTarget
  write: LoadTarget
}

/** Half of the connections read, and half write, until the signal. */
async function load(targets: Targets, signal: AbortSignal) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const attempts: (LoadAttempt & { isWrite: boolean })[] = []
  const connection = async (number: number) => {
    const isWrite = number % 2 === 1
    while (!signal.aborted) {
      const made = await attempt(agent, isWrite ? targets.write : targets.read)
      attempts.push({ ...made, isWrite })
      if (made.status >= 300 || made.status === 0) await delay(PAUSE)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, number) => connection(number)))
  agent.destroy()
  return attempts
}

const isServed = ({ status }: LoadAttempt) => status === 200 || status === 201

interface Measured {
  acknowledged: number
  lost: number
  refused: number
  /** Answers other than success and 503, and connections that ended without an answer. */
  unexpected: number
  /** Seconds from the fault to the first 503; 0 without any, because then nothing waited for the database. */
  untilRefused: number
  slowest: number
  /** Seconds from the end of the fault to the last answer that is not a success. */
  untilServed: number
}

/** Runs the load around a fault. `fault` resolves when the fault has ended. */
async function underLoad(server: Supervised, targets: Targets, fault: () => Promise<void>): Promise<Measured> {
  const over = new AbortController()
  const loading = load(targets, over.signal)
  await delay(QUIET)
  const from = performance.now()
  await fault()
  const until = performance.now()
  await answers(`${server.url}/ready`, () => false, PATIENCE)
  await delay(QUIET)
  over.abort()
  const attempts = await loading

  const affected = attempts.filter(({ ended }) => ended > from)
  const refused = affected.filter(({ status }) => status === 503)
  const last = Math.max(until, ...affected.filter((one) => !isServed(one)).map(({ ended }) => ended))
  const stored = await withConnection(server.ownerUrl, async (owner) => {
    const { rows } = await owner.query<{ id: string }>('SELECT id FROM units')
    return new Set(rows.map(({ id }) => id))
  })
  const acknowledged = attempts
    .filter(({ isWrite, status }) => isWrite && status === 201)
    .map(({ body }): string => JSON.parse(body).data.id)
  return {
    acknowledged: acknowledged.length,
    lost: acknowledged.filter((id) => !stored.has(id)).length,
    refused: refused.length,
    unexpected: affected.filter((one) => !isServed(one)).length - refused.length,
    untilRefused: refused.length === 0 ? 0 : (Math.min(...refused.map(({ ended }) => ended)) - from) / SECOND,
    slowest: Math.max(...affected.map(tookOf)) / SECOND,
    untilServed: (last - until) / SECOND,
  }
}

/** The worst of several measurements of one fault. */
function rowsOf(fault: string, measured: readonly Measured[]): BenchRow[] {
  const sum = (value: (one: Measured) => number) => measured.reduce((total, one) => total + value(one), 0)
  const worst = (value: (one: Measured) => number) => Math.max(...measured.map(value))
  const within = (name: string, value: number, max?: number): BenchRow => ({
    name,
    value,
    unit: 's',
    ...(max !== undefined && { bar: `at most ${max}`, met: value <= max }),
  })
  const count = (value: number) => value.toLocaleString('en')
  return [
    noneRow(
      `${fault}: missing units of ${count(sum((one) => one.acknowledged))} acknowledged`,
      sum((one) => one.lost),
      'units',
    ),
    noneRow(
      `${fault}: answers other than success and 503 (${count(sum((one) => one.refused))} times)`,
      sum((one) => one.unexpected),
      'requests',
    ),
    within(
      `${fault}: until the first 503`,
      worst((one) => one.untilRefused),
      REFUSED,
    ),
    within(
      `${fault}: slowest answer`,
      worst((one) => one.slowest),
    ),
    within(
      `${fault}: from its end to the last 503`,
      worst((one) => one.untilServed),
      BACK,
    ),
  ]
}

/** The database of a whole installation is killed and frozen while 20 connections read and write. */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    const server = await startSupervised(scope)
    const agent = await registerBenchAgent(server.url, server)
    const targets = { read: readTarget(server.url, agent), write: contributeTarget(server.url, agent) }
    /** For some seconds, nothing restarts the database. */
    const kill = () =>
      frozenWhile([server.supervisor], async () => {
        process.kill(postmasterOf(server), 'SIGKILL')
        await delay(OUTAGE)
      })
    const freeze = (isWhole: boolean) => () => {
      const postmaster = postmasterOf(server)
      return frozenWhile([postmaster, ...(isWhole ? childrenOf(postmaster) : [])], () => delay(OUTAGE))
    }
    const several = async (fault: () => Promise<void>) => {
      const measured: Measured[] = []
      for (let time = 0; time < TIMES; time++) measured.push(await underLoad(server, targets, fault))
      return measured
    }
    return [
      ...rowsOf(`kill -9 of the postmaster, restarted after ${OUTAGE / SECOND} s`, await several(kill)),
      ...rowsOf(`SIGSTOP of the database for ${OUTAGE / SECOND} s`, await several(freeze(true))),
      ...rowsOf(`SIGSTOP of the postmaster for ${OUTAGE / SECOND} s`, await several(freeze(false))),
    ]
  })
