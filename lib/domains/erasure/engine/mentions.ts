import type { Transaction } from '#lib/kernel/context.ts'
import type { Mention } from '#lib/kernel/erased.ts'
import { countRedacted, mentionCounts, storeMentions } from './repository.ts'

/**
 * Stores where names of the erased subject remain in texts of other authors: only the place, not the text. Marks
 * mentions that were redacted since.
 */
export async function noteMentions(tx: Transaction, runId: string, mentions: readonly Mention[]): Promise<void> {
  if (mentions.length > 0) await storeMentions(tx, { runId, mentions })
}

/** Number of places of one kind where erased words or names remain. */
export interface MentionCount {
  store: string
  kind: string
  field: string
  count: number
}

export interface RunMentions {
  /** Places where erased words or names remain, by store, kind and field. */
  mentions: MentionCount[]
  /** Number of places where names were replaced. */
  replaced: number
}
export async function countMentions(tx: Transaction, runId: string): Promise<RunMentions> {
  const mentions = await mentionCounts(tx, { runId })
  const [redacted] = await countRedacted(tx, { runId })
  return { mentions, replaced: redacted?.n ?? 0 }
}
