import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import type { TestApp } from './app.ts'
import { backupOf } from './backup.ts'
import type { CrashWorkers } from './crash-workers.ts'
import type { TestDatabase } from './database.ts'

/** How long a worker may take to die or to finish, in milliseconds. On a busy machine, only a hanging one takes that long. */
const patience = 600_000

/**
 * As in production, but more often: resumes erasures without a job, because it was retried too often or was freed
 * while a worker still ran it.
 */
const clock = { jobs: ['erasure.watch'], every: 1_000 }

/** A stopped installation: its database and its folder. */
export interface Still {
  ownerUrl: string
  env: TestApp['app']['env']
  dataDir: string
}
export interface CrashCopy {
  ownerUrl: string
  dataDir: string
  settings: Record<string, string>
}

/** The erasure is finished: the run has ended, and its jobs, including emails, are done or out of attempts. */
const over = `SELECT NOT EXISTS (SELECT FROM erasure_runs WHERE state IN ('planning', 'erasing', 'verifying'))
  AND NOT EXISTS (SELECT FROM graphile_worker.jobs WHERE run_at < '2100-01-01' AND attempts < max_attempts) AS over`

/** Remaining jobs and runs, reported when the work does not finish. */
const left = `SELECT key, attempts, max_attempts, round(extract(epoch FROM run_at - now())) AS seconds, locked_by IS NOT NULL AS locked, last_error
  FROM graphile_worker._private_jobs WHERE run_at < '2100-01-01'
  UNION ALL SELECT id, 0, 0, 0, false, state::text FROM erasure_runs`

/** Copies of one installation that run the same erasure with and without crashes. `afterAll(copies.close)`. */
export function crashCopies() {
  const databases: TestDatabase[] = []
  const folders: string[] = []
  const folderLike = (dataDir: string): string => {
    const folder = mkdtempSync(join(tmpdir(), 'kp-copy-'))
    folders.push(folder)
    cpSync(dataDir, folder, { recursive: true })
    return folder
  }
  return {
    /** Returns the current installation. The test closes its application; the database remains until `close`. */
    still(test: TestApp, database: TestDatabase): Still {
      databases.push(database)
      return { ownerUrl: database.ownerUrl, env: test.app.env, dataDir: folderLike(test.dataDir) }
    },
    /** `more`: settings in addition to those of the original. */
    async copyOf(still: Still, more: Record<string, string> = {}): Promise<CrashCopy> {
      const database = await backupOf(still)
      databases.push(database)
      const dataDir = folderLike(still.dataDir)
      const settings = {
        NODE_ENV: 'test',
        DATABASE_URL: database.appUrl,
        KP_DATA_DIR: dataDir,
        KP_LIMITS: 'memory',
        KP_SECRET: still.env.KP_SECRET ?? '',
        ...more,
      }
      return { ownerUrl: database.ownerUrl, dataDir, settings }
    },
    async close(): Promise<void> {
      for (const { drop } of databases) await drop()
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Lets a worker run until it dies or all work is done. Returns the point of its death. */
const work = (workers: CrashWorkers, copy: CrashCopy, pass?: readonly string[]): Promise<string | undefined> =>
  withConnection(copy.ownerUrl, async (client) => {
    const worker = await workers.start({ settings: copy.settings, clock, ...(pass && { pass }) })
    const retirement = worker.died.then((point) => ({ point }))
    for (const until = performance.now() + patience; performance.now() < until; ) {
      const dead = await Promise.race([retirement, delay(40)])
      if (dead?.point) return dead.point
      if (dead) throw new Error('the worker ended by itself')
      const { rows } = await client.query<{ over: boolean }>(over)
      if (!rows[0]?.over) continue
      await worker.kill()
      return undefined
    }
    await worker.kill()
    const { rows } = await client.query(left)
    throw new Error(`the worker neither died nor came to an end; left: ${JSON.stringify(rows)}`)
  })

/**
 * Carries the erasure out. `dying`: each worker is killed at the first point where no earlier one was killed, until
 * one finishes; `passing`: points without a kill. Returns the points in order.
 */
export async function carriedOut(
  workers: CrashWorkers,
  copy: CrashCopy,
  { dying, passing = [] }: { dying: boolean; passing?: readonly string[] },
): Promise<string[]> {
  if (!dying) {
    await work(workers, copy)
    return []
  }
  const died: string[] = []
  for (;;) {
    const point = await work(workers, copy, [...passing, ...died])
    if (point === undefined) return died
    died.push(point)
  }
}
