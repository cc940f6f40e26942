import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

/** A process of ours ended before it was ready. */
export class ChildFailure extends Error {}

export type ChildOptions = {
  /** What to call it in messages. */
  name: string
  file: string
  env: NodeJS.ProcessEnv
  /** It ended more often than it may be restarted. */
  onGivenUp(message: string): void
}

export type Child = {
  /** Settles when it has said `ready`; rejects with one line if it ends before. */
  ready: Promise<void>
  /** Asks it to finish, and insists after ten seconds. Safe to repeat. */
  stop(): Promise<void>
  /** Ends it at once. */
  kill(): void
}

const PATIENCE = 10_000
const MOST_RESTARTS = 5
const WITHIN = 60_000

/** Allows five restarts a minute, each after a longer pause. → the pause in ms, undefined when there were too many. */
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
 * Half of what Node gives its youngest objects, in MiB: what streams through, exports above all, is garbage at once, and more room for it
 * only makes the process larger.
 */
export const nodeFlags = ['--max-semi-space-size=8'] as const

/** A process of our own with a line to it: it is restarted when it ends by itself, and ends by itself when we are killed. */
export function startChild({ name, file, env, onGivenUp }: ChildOptions): Child {
  const allowance = restartAllowance()
  let current: ChildProcess | undefined
  let isStopping = false

  const launch = () =>
    new Promise<void>((done, fail) => {
      const child = spawn(process.execPath, [...nodeFlags, file], {
        env,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      current = child
      let isReady = false
      child.on('error', () => {}) // what could not be spawned or told also exits
      child.on('message', (message) => {
        if (message !== 'ready') return
        isReady = true
        done()
      })
      child.once('exit', (status, signal) => {
        const how = signal ?? `status ${status}`
        if (isReady && !isStopping) void restart(how)
        else fail(new ChildFailure(`The ${name} did not start (${how}); what it said stands above.`))
      })
    })

  const restart = async (how: string) => {
    const pause = allowance()
    if (pause === undefined) {
      onGivenUp(`The ${name} ended again (${how}), for the ${MOST_RESTARTS + 1}th time within a minute.`)
      return
    }
    console.error(`The ${name} ended (${how}); it is started again.`)
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
  ready.catch(() => {}) // whoever waits for it hears of it
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
      const insist = setTimeout(() => current?.kill('SIGKILL'), PATIENCE)
      current.kill('SIGTERM')
      await ended
      clearTimeout(insist)
    },
  }
}
