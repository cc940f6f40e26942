import './runtime.ts'
import { flushCompileCache } from 'node:module'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { type Env, publicUrl, readEnv } from '#lib/config/env.ts'
import { refuseOutside } from '#lib/config/locations.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { prepareInstallation } from '#lib/platform/installation.ts'
import { findEmbedded } from '#lib/stores/postgres/embedded.ts'
import { BuildFailure, buildChanged, bundleFolder } from './build.ts'
import { tooLittleSpace } from './free-space.ts'

// The supervisor runs this file as a child process that ends. Memory used here is free again while the installation runs.

/** Messages to the supervisor, in this order. `database` is sent only if the database is embedded. */
export type PreparationMessage =
  /** Requests the embedded database of a data directory. The supervisor replies with a {@link DatabaseReply}. */
  | { step: 'database'; dataDir: string }
  /** Everything is prepared: the supervisor starts these processes. */
  | { step: 'start'; children: { name: string; file: string; drain: number }[]; env: Record<string, string> }
  /** The text to print when the processes are ready. */
  | { step: 'finished'; text: string; isWarning: boolean }

export type DatabaseReply = { ownerUrl: string }

/** An error that the operator can correct, in one line. */
class Refusal extends Error {
  override readonly name = 'Refusal'
}

const aborted = new AbortController()
let preparing: Promise<unknown> | undefined

const send = (message: PreparationMessage) => process.send?.(message)

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

/** Asks the supervisor to run the embedded database. Returns the owner's URL. */
const embeddedUrl = (dataDir: string) =>
  new Promise<string>((done, fail) => {
    process.once('message', ({ ownerUrl }: DatabaseReply) => done(ownerUrl))
    aborted.signal.addEventListener('abort', () => fail(new Refusal('The start was stopped.')))
    send({ step: 'database', dataDir })
  })

async function prepareDatabase(env: Env) {
  const isEmbedded = !env.DATABASE_URL && !env.DATABASE_MIGRATION_URL
  const prepared = await prepareInstallation(env, isEmbedded ? await embeddedUrl(env.KP_DATA_DIR) : undefined)
  return { ...prepared, isEmbedded }
}
type Prepared = Awaited<ReturnType<typeof prepareDatabase>>

function childrenOf({ appUrl, isEmbedded }: Prepared, env: Env): PreparationMessage {
  const { KP_ROLE: role, KP_LIMITS, KP_REDIS_URL, KP_WEB_PROCESSES } = env
  // A single server process with its own database needs no shared store for its limits.
  const isAlone = isEmbedded && KP_WEB_PROCESSES === 1 && KP_REDIS_URL === undefined
  const limits = KP_LIMITS === 'auto' && isAlone ? 'memory' : KP_LIMITS
  const children = [
    ...(role === 'worker'
      ? []
      : [{ name: 'server', file: `${bundleFolder}/server.mjs`, drain: env.KP_DRAIN_SECONDS * 1_000 }]),
    ...(role === 'web' ? [] : [{ name: 'worker', file: `${bundleFolder}/worker.mjs`, drain: 0 }]),
  ]
  return { step: 'start', children, env: { DATABASE_URL: appUrl, KP_LIMITS: limits } }
}

/** The parts of the preparation that need the application, from the bundle that the build wrote. */
const finishStart = (): Promise<typeof import('./finish-start.ts')> =>
  import(pathToFileURL(resolve(bundleFolder, 'finish-start.mjs')).href)

async function prepare() {
  const env = readEnv()
  refuseOutside(env)
  const servesWeb = env.KP_ROLE !== 'worker'
  if (servesWeb && env.PORT !== 0) await checkPort(env)
  const full = env.DATABASE_URL || env.DATABASE_MIGRATION_URL ? undefined : tooLittleSpace(env.KP_DATA_DIR)
  if (full !== undefined) throw new Refusal(full)
  if (aborted.signal.aborted) return
  const prepared = prepareDatabase(env)
  preparing = prepared
  prepared.catch(() => {}) // a rejection is handled where it is awaited below
  const { NODE_COMPILE_CACHE: _, ...inherited } = process.env
  const buildEnv = { ...inherited, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' } as const
  const built = buildChanged(buildEnv, aborted.signal, () => console.log('Building (once after each change) …'))
  const [opened] = await Promise.all([prepared, built])
  if (opened.applied.length > 0) console.log(`Database prepared: ${opened.applied.length} migrations applied.`)
  if (opened.warning) console.warn(opened.warning)
  const { firstRun, repeatErasures } = await finishStart()
  const { detail } = await repeatErasures({ ...env, DATABASE_URL: opened.appUrl })
  flushCompileCache() // for the processes that start now
  send(childrenOf(opened, env))
  const isTerminal = process.stdout.isTTY === true
  const news = servesWeb ? await firstRun({ databaseUrl: opened.appUrl, isTerminal }) : []
  const where = servesWeb ? `on ${publicUrl(env)}` : 'as a worker'
  const line =
    detail === undefined
      ? `KnowledgePulse is ready ${where} (Ctrl-C stops it)`
      : `KnowledgePulse runs ${where}. ${detail}`
  send({ step: 'finished', text: [line, ...news].join('\n'), isWarning: detail !== undefined })
}

/** One line for an error that the operator can correct. Everything else is a defect, and printed in full. */
function explain(error: unknown): string {
  // The bundle has its own copies of these classes, so the name decides.
  const isPlain = error instanceof Error && ['Refusal', 'DatabaseFault', 'BadVariable'].includes(error.name)
  if (isPlain) return error.message
  if (error instanceof BuildFailure) {
    return error.message.includes('ENOSPC')
      ? 'The disk is full: the build could not be written. Free some space and start again; nothing stored was lost.'
      : `${error.message}\nThe build failed. See its output above. Nothing was started.`
  }
  if (errorCode(error) === 'ENOSPC')
    return 'The disk is full. Free some space and start again; nothing stored was lost.'
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Aborts the build and lets a migration in progress finish. */
function stop() {
  aborted.abort()
  const end = () => process.exit(0)
  Promise.resolve(preparing).then(end, end)
}

// Ctrl-C and a hangup reach the whole foreground group. The supervisor decides when this process stops.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('SIGTERM', stop).once('disconnect', stop)
prepare().then(
  () => process.disconnect?.(),
  (error: unknown) => {
    if (!aborted.signal.aborted) console.error(explain(error))
    process.exit(1)
  },
)
