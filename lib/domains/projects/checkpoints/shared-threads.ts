import type { Transaction } from '#lib/kernel/context.ts'
import { sourcesOfThreads, threadsListedElsewhere } from './repository.ts'

/**
 * Of these threads, those shared with remaining records: a conversation that lists the thread, or a message or document with a pointer to
 * it. In a shared thread, only erased messages are removed. `conversations` and `sources` are being erased. Of two concurrent erasures, at
 * least one sees the other's mark or fence, so a thread that both erase does not remain.
 */
export async function threadsOfOthers(
  tx: Transaction,
  threads: readonly string[],
  going: { conversations: readonly string[]; sources(): Promise<ReadonlySet<string>> },
  now: Date,
): Promise<Set<string>> {
  if (threads.length === 0) return new Set()
  const listed = await threadsListedElsewhere(tx, { threads, conversations: going.conversations, now })
  const pointed = await sourcesOfThreads(tx, { threads, now })
  const goes = pointed.length === 0 ? new Set() : await going.sources()
  return new Set([
    ...listed.map(({ thread }) => thread),
    ...pointed.flatMap(({ thread, source }) => (goes.has(source) ? [] : [thread])),
  ])
}
