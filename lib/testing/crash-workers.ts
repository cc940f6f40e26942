import { type ChildProcess, fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const file = join(import.meta.dirname, 'crash-worker.ts')

export interface CrashWork {
  settings: Record<string, string>
  pass?: readonly string[]
  halt?: readonly string[]
  clock?: { jobs: readonly string[]; every: number }
  ahead?: number
}
export interface CrashWorker {
  /** Resolves when its process has ended, with the injection point of its death or undefined. */
  died: Promise<string | undefined>
  kill(): Promise<void>
  /** The points that it has written so far. */
  noted(): string[]
  /** Continues after a halt. */
  resume(): void
}

/**
 * Processes of crash-worker.ts. Spare processes load while others work, so that a worker starts in half a second.
 * `afterAll(workers.close)`.
 */
export function crashWorkers({ spares = 1 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'kp-crash-'))
  // All files of a test run share the cache of the run.
  const { NODE_COMPILE_CACHE = join(folder, 'compiled') } = process.env
  const waiting: { child: ChildProcess; loaded: Promise<unknown> }[] = []
  const alive = new Set<ChildProcess>()
  let count = 0
  const load = () => {
    const child = fork(file, [], {
      env: { NODE_ENV: 'test', PATH: process.env.PATH, NODE_COMPILE_CACHE },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    alive.add(child)
    const ended = once(child, 'exit').then(() => {
      alive.delete(child)
      throw new Error('a worker ended before it had loaded')
    })
    const loaded = Promise.race([once(child, 'message'), ended])
    // A process that ends before it has loaded is not an error.
    ended.catch(() => {})
    loaded.catch(() => {})
    return { child, loaded }
  }
  const keepSpares = () => {
    while (waiting.length < spares) waiting.push(load())
  }
  const end = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async function start(work: CrashWork): Promise<CrashWorker> {
    const { child, loaded } = waiting.shift() ?? load()
    keepSpares()
    await loaded
    const notes = join(folder, `notes-${++count}`)
    const died = once(child, 'exit').then(() => (existsSync(notes) ? readFileSync(notes, 'utf8').trim() : undefined))
    child.send({ ...work, notes })
    return {
      died,
      kill: () => end(child),
      noted: () => (existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : []),
      resume: () => void child.kill('SIGCONT'),
    }
  }

  return {
    /** Starts a worker that dies at the first point outside `pass`, or never without `pass`. */
    start,
    /**
     * Runs `at` workers at a time, kills each after a random time between `from` and `to` (milliseconds) and replaces
     * it, until all work is done. Each kill lengthens the lives of later workers, so that slow machines finish.
     * Returns the number of kills.
     */
    async mayhem(
      work: CrashWork,
      { at = 2, from = 1_000, to = 4_000 },
      isDone: () => Promise<boolean>,
    ): Promise<number> {
      let killed = 0
      let isOver = false
      const one = async () => {
        while (!isOver) {
          const worker = await start(work)
          const until = performance.now() + randomInt(from, Math.round(to * 1.25 ** killed))
          while (!isOver && performance.now() < until) await delay(50)
          if (!isOver) killed++
          await worker.kill()
        }
      }
      const watch = async () => {
        while (!(await isDone())) await delay(200)
        isOver = true
      }
      await Promise.all([watch(), ...Array.from({ length: at }, one)])
      return killed
    },
    async close(): Promise<void> {
      await Promise.all([...alive].map(end))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
export type CrashWorkers = ReturnType<typeof crashWorkers>
