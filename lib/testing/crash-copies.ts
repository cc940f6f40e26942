import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import type { TestApp } from './app.ts'
import { backupOf } from './backup.ts'
import type { CrashWorkers } from './crash-workers.ts'
import type { TestDatabase } from './database.ts'

/** How long a worker may take to die or to come to an end, in milliseconds. */
const patience = 120_000

/**
 * As in production, but sooner: what no job is about any more, since its job was tried too often, or was freed while somebody still did it, is
 * taken up again by the clock.
 */
const clock = { jobs: ['erasure.watch'], every: 1_000 }

/** An installation that stands still: its database and its folder. */
export interface Still {
  ownerUrl: string
  env: TestApp['app']['env']
  dataDir: string
}
export interface Copy {
  ownerUrl: string
  dataDir: string
  settings: Record<string, string>
}

/** Nothing of an erasure is left to do: the run is at its end, and what it enqueued, letters among it, is done, or was tried as often as the queue tries. */
const over = `SELECT NOT EXISTS (SELECT FROM erasure_runs WHERE state IN ('planning', 'erasing', 'verifying'))
  AND NOT EXISTS (SELECT FROM graphile_worker.jobs WHERE run_at < '2100-01-01' AND attempts < max_attempts) AS over`

/** What the queue and the runs say where it does not come to an end. */
const left = `SELECT key, attempts, max_attempts, round(extract(epoch FROM run_at - now())) AS seconds, locked_by IS NOT NULL AS locked, last_error
  FROM graphile_worker._private_jobs WHERE run_at < '2100-01-01'
  UNION ALL SELECT id, 0, 0, 0, false, state::text FROM erasure_runs`

/** Copies of one installation, in which the same erasure runs, disturbed and undisturbed. `afterAll(copies.close)`. */
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
    /** The installation as it is now; the test closes its application, and its database stays until the end. */
    still(test: TestApp, database: TestDatabase): Still {
      databases.push(database)
      return { ownerUrl: database.ownerUrl, env: test.app.env, dataDir: folderLike(test.dataDir) }
    },
    /** `more`: settings besides those of every test, as it had them. */
    async copyOf(still: Still, more: Record<string, string> = {}): Promise<Copy> {
      const database = await backupOf(still)
      databases.push(database)
      const dataDir = folderLike(still.dataDir)
      const settings = {
        ...{ NODE_ENV: 'test', DATABASE_URL: database.appUrl, KP_DATA_DIR: dataDir, KP_LIMITS: 'memory' },
        ...{ KP_SECRET: still.env.KP_SECRET ?? '', ...more },
      }
      return { ownerUrl: database.ownerUrl, dataDir, settings }
    },
    async close(): Promise<void> {
      for (const { drop } of databases) await drop()
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Lets a worker work until it dies, or all is done. Gives the point of its death. */
const work = (workers: CrashWorkers, copy: Copy, pass?: readonly string[]): Promise<string | undefined> =>
  withConnection(copy.ownerUrl, async (client) => {
    const worker = await workers.start({ settings: copy.settings, clock, ...(pass && { pass }) })
    const death = worker.died.then((point) => ({ point }))
    for (const until = performance.now() + patience; performance.now() < until; ) {
      const dead = await Promise.race([death, delay(40)])
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
 * Carries the erasure out. `dying`: each worker is killed at the first point that none before it was killed at, until one comes to the
 * end; `passing`: at none of these. Gives the points, in their order.
 */
export async function carriedOut(
  workers: CrashWorkers,
  copy: Copy,
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
