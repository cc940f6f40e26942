import './runtime.ts'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { BadVariable, type Env, publicUrl, readEnv } from '#lib/config/env.ts'
import { refuseOutside } from '#lib/config/locations.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { type Installation, openInstallation } from '#lib/platform/installation.ts'
import { findEmbedded, startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import { BuildFailure, buildChanged } from './build.ts'
import { type Child, ChildFailure, restartAllowance, startChild } from './children.ts'
import { tooLittleSpace } from './free-space.ts'

/** An error that the operator can correct, in one line. */
class Refusal extends Error {}

const PRODUCTION = { NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' } as const

const aborted = new AbortController()
let children: Child[] = []
let installation: Promise<Installation> | undefined
let stopping: Promise<void> | undefined

/** Stops everything in order: the server first, so that no new requests arrive, and the database last. */
async function stopAll() {
  aborted.abort()
  for (const child of children) await child.stop()
  const opened = await installation?.catch(() => undefined)
  await opened?.embedded?.stop()
}

function stop(status: number) {
  if (stopping) return
  process.exitCode = status
  stopping = stopAll()
  stopping.then(
    () => process.exit(),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
}

/** The first signal finishes running work. A second one kills the processes; the database still stops in order. */
function onSignal() {
  if (!stopping) console.log('\nStopping …')
  else for (const child of children) child.kill()
  stop(0)
}

const fail = (message: string) => {
  if (!stopping) console.error(message)
  stop(1)
}

/** The pid of the KnowledgePulse that uses the embedded database of this data directory. */
const running = async ({ DATABASE_URL, DATABASE_MIGRATION_URL, KP_DATA_DIR }: Env) =>
  DATABASE_URL || DATABASE_MIGRATION_URL ? undefined : (await findEmbedded(KP_DATA_DIR)).ownerPid

/** Waits up to two seconds for the port, because processes of a killed start take a moment to exit. */
async function checkPort(env: Env) {
  const { HOST, PORT } = env
  const patience = performance.now() + 2000
  for (;;) {
    const probe = createServer()
    const code = await new Promise<string | undefined>((done) => {
      probe.once('error', (error) => done(errorCode(error) ?? error.message)).listen(PORT, HOST, () => done(undefined))
    })
    await new Promise((done) => probe.close(done))
    if (code === undefined) return
    if (code === 'EADDRINUSE' && performance.now() < patience) {
      await delay(100)
      continue
    }
    const pid = code === 'EADDRINUSE' ? await running(env) : undefined
    if (pid !== undefined)
      throw new Refusal(
        `KnowledgePulse is already running here (process ${pid}) and uses this data directory. Stop it first, or give this one a KP_DATA_DIR and a PORT of its own.`,
      )
    const why: Record<string, string> = {
      EADDRINUSE: `Port ${PORT} on ${HOST} is in use, by another program or another KnowledgePulse. Stop that one, or choose another port: PORT=${PORT + 1} npm start`,
      EACCES: `Port ${PORT} needs rights that this user lacks. Choose one above 1023: PORT=3000 npm start`,
    }
    throw new Refusal(why[code] ?? `HOST: ${HOST} is not an address of this machine (${code}).`)
  }
}

/** Restarts the database server, which ends only if it crashes or is killed. Its clients reconnect to the same address. */
async function keepDatabase(opened: Installation, env: Env) {
  const allowance = restartAllowance()
  while (opened.embedded) {
    await opened.embedded.exited
    if (stopping) return
    const pause = allowance()
    if (pause === undefined)
      return fail('The database ended too often within a minute. Its log is pgdata.log in the data directory.')
    console.error('The database ended and is restarted.')
    await opened.embedded.stop()
    await delay(pause)
    if (stopping) return
    opened.embedded = await startEmbedded(env.KP_DATA_DIR)
    if (stopping) return opened.embedded.stop()
  }
}

function startChildren(
  { appUrl, embedded }: Installation,
  { KP_ROLE: role, KP_LIMITS, KP_REDIS_URL, KP_WEB_PROCESSES }: Env,
): Child[] {
  const { DATABASE_MIGRATION_URL: _, ...inherited } = process.env // only this process gets the owner's rights
  // A single server process with its own database needs no shared store for its limits.
  const isAlone = embedded !== undefined && KP_WEB_PROCESSES === 1 && KP_REDIS_URL === undefined
  const limits = KP_LIMITS === 'auto' && isAlone ? 'memory' : KP_LIMITS
  const env = { ...inherited, ...PRODUCTION, DATABASE_URL: appUrl, KP_LIMITS: limits }
  const child = (name: string, file: string) => startChild({ name, file, env, onGivenUp: fail })
  return [
    ...(role === 'worker' ? [] : [child('server', 'bin/server.ts')]),
    ...(role === 'web' ? [] : [child('worker', 'bin/worker.ts')]),
  ]
}

/** After a restore, repeats the erasures of the ledger before anything is served. The operator must resolve the remaining ones. */
async function caughtUp({ appUrl }: Installation, env: Env) {
  const { createApp } = await import('#lib/app.ts')
  const app = createApp({ env: { ...env, DATABASE_URL: appUrl }, replaysByItself: env.KP_ROLE === 'all' })
  try {
    return await app.restored.state()
  } finally {
    await app.close()
  }
}

async function start() {
  const env = readEnv()
  refuseOutside(env)
  const servesWeb = env.KP_ROLE !== 'worker'
  if (servesWeb && env.PORT !== 0) await checkPort(env)
  const full = env.DATABASE_URL || env.DATABASE_MIGRATION_URL ? undefined : tooLittleSpace(env.KP_DATA_DIR)
  if (full !== undefined) throw new Refusal(full)
  installation = openInstallation(env)
  installation.catch(() => {}) // a rejection is handled where it is awaited below
  const buildEnv = { ...process.env, ...PRODUCTION }
  const built = buildChanged(buildEnv, aborted.signal, () => console.log('Building (once after each change) …'))
  const [opened] = await Promise.all([installation, built])
  if (stopping) return
  if (opened.embedded?.notice) console.log(opened.embedded.notice)
  if (opened.applied.length > 0) console.log(`Database prepared: ${opened.applied.length} migrations applied.`)
  if (opened.warning) console.warn(opened.warning)
  keepDatabase(opened, env).catch((error: unknown) => fail(explain(error)))
  const { detail } = await caughtUp(opened, env)
  if (stopping) return
  children = startChildren(opened, env)
  const { firstRun } = await import('#lib/operator/first-run.ts')
  const [news] = await Promise.all([
    servesWeb ? firstRun({ databaseUrl: opened.appUrl, isTerminal: process.stdout.isTTY === true }) : [],
    ...children.map((child) => child.ready),
  ])
  if (stopping) return
  const where = servesWeb ? `on ${publicUrl(env)}` : 'as a worker'
  if (detail !== undefined) return console.error([`KnowledgePulse runs ${where}. ${detail}`, ...news].join('\n'))
  console.log([`KnowledgePulse is ready ${where} (Ctrl-C stops it)`, ...news].join('\n'))
}

/** One line for an error that the operator can correct. Everything else is a defect, and printed in full. */
function explain(error: unknown): string {
  const isPlain = [Refusal, ChildFailure, DatabaseFault, BadVariable].some((kind) => error instanceof kind)
  if (isPlain && error instanceof Error) return error.message
  if (error instanceof BuildFailure) {
    return error.message.includes('ENOSPC')
      ? 'The disk is full: the build could not be written. Free some space and start again; nothing stored was lost.'
      : `${error.message}\nThe build failed. See its output above. Nothing was started.`
  }
  if (errorCode(error) === 'ENOSPC')
    return 'The disk is full. Free some space and start again; nothing stored was lost.'
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
start().catch((error: unknown) => fail(explain(error)))
