import type { Transaction } from '#lib/kernel/context.ts'

export interface EnqueueOptions {
  runAt?: Date
  /** A job with the same key replaces one that waits. */
  key?: string
  maxAttempts?: number
  /** It waits for a store that does not answer. Marks the job, so that an operator and tests can tell it from other jobs of later. */
  isWaiting?: boolean
}

/** On jobs that wait for a store. */
export const waitingFlag = 'waits-for-store'

/** Adds a job in the caller's transaction: both commit or neither. The payload carries ids and counts alone. */
export async function enqueue(
  tx: Transaction,
  name: string,
  payload: Record<string, string | number>,
  { runAt, key, maxAttempts = 25, isWaiting = false }: EnqueueOptions = {},
): Promise<void> {
  await tx.$queryRaw`SELECT id FROM graphile_worker.add_job(${name}, payload => ${JSON.stringify(payload)}::json,
    run_at => ${runAt ?? null}::timestamptz, job_key => ${key ?? null}, max_attempts => ${maxAttempts}::int, flags => ${isWaiting ? [waitingFlag] : null}::text[])`
}
