import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { compileCache } from './compile-cache.ts'

/** A child process ended before it was ready. */
export class ChildFailure extends Error {}

export type ChildOptions = {
  /** The name in messages. */
  name: string
  file: string
  env: NodeJS.ProcessEnv
  /** Milliseconds that it may take to stop, besides those for its work. */
  drain?: number
  /** Called when it ended more often than it may be restarted. */
  onGivenUp(message: string): void
}

export type Child = {
  /** Resolves when the process has sent `ready`. Rejects with one line if it ends before. */
  ready: Promise<void>
  /** Asks it to finish, and kills it after ten seconds and its drain. Safe to repeat. */
  stop(): Promise<void>
  /** Kills it immediately. */
  kill(): void
}

const PATIENCE = 10_000
const MOST_RESTARTS = 5
const WITHIN = 60_000

/** Allows five restarts a minute with growing pauses. Returns the pause in ms, or undefined when there were too many. */
export function restartAllowance(now: () => number = () => performance.now()): () => number | undefined {
  let recent: number[] = []
  return () => {
    recent = recent.filter((at) => now() - at < WITHIN)
    if (recent.length >= MOST_RESTARTS) return undefined
    recent.push(now())
    return 200 * 2 ** (recent.length - 1)
  }
}

/**
 * Semi-space size in MiB, half of Node's default. Streamed data, mainly exports, is short-lived garbage, and a larger
 * semi-space only increases the memory of the process. The heap is collected when it has doubled: under a flood, V8's own
 * factor lets it grow to four times the live data. WebAssembly runs as first compiled: only Prisma's query compiler uses it, once per
 * form of a query, and optimizing it takes 20 MiB.
 */
export const nodeFlags = ['--max-semi-space-size=8', '--heap-growing-percent=100', '--liftoff-only'] as const

/** Starts a child process with an IPC channel. It is restarted when it ends unexpectedly, and ends when this process is killed. */
export function startChild({ name, file, env, drain = 0, onGivenUp }: ChildOptions): Child {
  const allowance = restartAllowance()
  let current: ChildProcess | undefined
  let isStopping = false

  const launch = () =>
    new Promise<void>((done, fail) => {
      const child = spawn(process.execPath, [...nodeFlags, file], {
        env: { ...compileCache, ...env },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      current = child
      let isReady = false
      child.on('error', () => {}) // a process that cannot be spawned or messaged also exits
      child.on('message', (message) => {
        if (message !== 'ready') return
        isReady = true
        done()
      })
      child.once('exit', (status, signal) => {
        const how = signal ?? `status ${status}`
        if (isReady && !isStopping) void restart(how)
        else fail(new ChildFailure(`The ${name} did not start (${how}). See its output above.`))
      })
    })

  const restart = async (how: string) => {
    const pause = allowance()
    if (pause === undefined) {
      onGivenUp(`The ${name} ended again (${how}), for the ${MOST_RESTARTS + 1}th time within a minute.`)
      return
    }
    console.error(`The ${name} ended (${how}) and is restarted.`)
    await delay(pause)
    if (isStopping) return
    try {
      await launch()
    } catch {
      if (!isStopping) await restart('while starting')
    }
  }

  const hasEnded = () => !current || current.exitCode !== null || current.signalCode !== null
  const ready = launch()
  ready.catch(() => {}) // callers of `ready` handle the rejection
  return {
    ready,
    kill: () => {
      isStopping = true
      current?.kill('SIGKILL')
    },
    stop: async () => {
      isStopping = true
      if (!current || hasEnded()) return
      const ended = new Promise((done) => current?.once('exit', done))
      const insist = setTimeout(() => current?.kill('SIGKILL'), PATIENCE + drain)
      current.kill('SIGTERM')
      await ended
      clearTimeout(insist)
    },
  }
}
