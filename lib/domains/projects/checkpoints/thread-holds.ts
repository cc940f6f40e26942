import type { Transaction } from '#lib/kernel/context.ts'
import { holdsOfThreads } from './repository.ts'

/** The threads under legal hold, with the hold's id: a hold on the project, or on an author of messages in its conversations. */
export async function threadHolds(
  tx: Transaction,
  threads: readonly string[],
  now: Date,
): Promise<ReadonlyMap<string, string>> {
  if (threads.length === 0) return new Map()
  const rows = await holdsOfThreads(tx, { threads, now })
  return new Map(rows.map(({ thread, hold }) => [thread, hold]))
}
