import './runtime.ts'
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode } from '#lib/kernel/error-code.ts'
import { type EmbeddedDatabase, startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import { type Child, ChildFailure, nodeFlags, restartAllowance, startChild } from './children.ts'
import { compileCache } from './compile-cache.ts'
import type { DatabaseReply, PreparationMessage } from './prepare.ts'

// This process runs as long as the installation. It must not import the application, which would stay in its memory:
// `prepare.ts` reads the settings, migrates, builds and creates the first admin in a child process that ends.

const PRODUCTION = { NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' } as const

let preparation: ChildProcess | undefined
let children: Child[] = []
let database: Promise<EmbeddedDatabase> | undefined
let stopping: Promise<void> | undefined

const hasEnded = ({ pid, exitCode, signalCode }: ChildProcess) =>
  pid === undefined || exitCode !== null || signalCode !== null

/** Stops everything in order: the server first, so that no new requests arrive, and the database last. */
async function stopAll() {
  if (preparation && !hasEnded(preparation)) {
    const ended = new Promise((done) => preparation?.once('exit', done))
    preparation.kill('SIGTERM')
    await ended
  }
  for (const child of children) await child.stop()
  const embedded = await database?.catch(() => undefined)
  await embedded?.stop()
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
  else {
    preparation?.kill('SIGKILL')
    for (const child of children) child.kill()
  }
  stop(0)
}

const fail = (message: string) => {
  if (!stopping) console.error(message)
  stop(1)
}

/** Starts the embedded database and restarts it if it ends, which happens only if it crashes or is killed. */
async function runDatabase(dataDir: string, reply: (url: string) => void) {
  database = startEmbedded(dataDir)
  const started = await database
  if (started.notice) console.log(started.notice)
  reply(started.ownerUrl('kp'))
  const allowance = restartAllowance()
  for (let embedded = started; ; ) {
    await embedded.exited
    if (stopping) return
    const pause = allowance()
    if (pause === undefined)
      return fail('The database ended too often within a minute. Its log is pgdata.log in the data directory.')
    console.error('The database ended and is restarted.')
    await embedded.stop()
    await delay(pause)
    if (stopping) return
    database = startEmbedded(dataDir) // its clients reconnect to the same address
    embedded = await database
  }
}

function startChildren(
  processes: readonly { name: string; file: string; drain: number }[],
  settings: Record<string, string>,
) {
  const { DATABASE_MIGRATION_URL: _, ...inherited } = process.env // only the preparation gets the owner's rights
  const env = { ...inherited, ...PRODUCTION, ...settings }
  children = processes.map((one) => startChild({ ...one, env, onGivenUp: fail }))
}

async function announce(text: string, isWarning: boolean) {
  await Promise.all(children.map((child) => child.ready))
  if (stopping) return
  if (isWarning) console.error(text)
  else console.log(text)
}

function start() {
  // With the flags of the processes, because Node's compile cache depends on them.
  const child = spawn(process.execPath, [...nodeFlags, join(import.meta.dirname, 'prepare.ts')], {
    env: { ...compileCache, ...process.env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  preparation = child
  const failed = (error: unknown) => fail(explain(error))
  child.on('message', (message: PreparationMessage) => {
    if (stopping) return
    if (message.step === 'database') {
      const reply = (ownerUrl: string) => child.send({ ownerUrl } satisfies DatabaseReply, () => {})
      runDatabase(message.dataDir, reply).catch(failed)
    } else if (message.step === 'start') startChildren(message.children, message.env)
    else announce(message.text, message.isWarning).catch(failed)
  })
  child.once('error', failed)
  child.once('exit', (status, signal) => {
    if (status === 0) return
    if (signal) fail(`The preparation ended early (${signal}). Start again.`)
    else stop(1) // it printed its error
  })
}

/** One line for an error that the operator can correct. Everything else is a defect, and printed in full. */
function explain(error: unknown): string {
  if (error instanceof ChildFailure || error instanceof DatabaseFault) return error.message
  if (errorCode(error) === 'ENOSPC')
    return 'The disk is full. Free some space and start again; nothing stored was lost.'
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

start()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
