import type { Transaction } from '#lib/kernel/context.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { addJob, measureQueue } from './repository.ts'

export interface EnqueueOptions {
  runAt?: Date
  /** A job replaces a waiting one with the same key. */
  key?: string
  maxAttempts?: number
  /** The job waits for a store that does not respond. The mark distinguishes it from other scheduled jobs, for operators and tests. */
  isWaiting?: boolean
}

/** The flag of jobs that wait for a store. */
export const waitingFlag = 'waits-for-store'

/** Adds a job in the caller's transaction: both commit or neither does. The payload contains only ids and counts. */
export async function enqueue(
  tx: Transaction,
  name: string,
  payload: Record<string, string | number>,
  { runAt, key, maxAttempts = 25, isWaiting = false }: EnqueueOptions = {},
): Promise<void> {
  const flags = isWaiting ? [waitingFlag] : null
  await addJob(tx, { name, payload, run_at: runAt ?? null, key: key ?? null, max_attempts: maxAttempts, flags })
}

/** The queue of the installation, by which workers can be scaled. Before the first worker has created its tables, it is unknown. */
export const queueMeasures = (db: Database): Measuring => ({
  name: 'jobs',
  async measure() {
    const [row] = await measureQueue(db, {})
    const { oldest = 0, ...states } = row ?? {}
    return [
      {
        name: 'kp_jobs',
        help: 'Jobs by state; ready ones wait only for a worker, failed ones do not run again',
        type: 'gauge',
        samples: Object.entries(states).map(([state, value]) => ({ labels: { state }, value })),
      },
      {
        name: 'kp_jobs_oldest_ready_seconds',
        help: 'How long the oldest ready job has waited for a worker',
        type: 'gauge',
        samples: [{ value: oldest }],
      },
    ]
  },
})
