import type { Transaction } from '#lib/kernel/context.ts'
import { addJob } from './repository.ts'

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
