import { type TierName, tierLimits } from '#lib/domains/tokens/tier-rules.ts'

export interface TypedLimits {
  tier: TierName
  /** As typed, a minute and token; empty: the tier's. */
  reads: string
  writes: string
}

const most = 1_000_000

/** A limit of its own as typed: a whole number from 1 to a million, null for the tier's; undefined where it is none. */
export function ownLimit(text: string): number | null | undefined {
  const typed = text.trim()
  if (typed === '') return null
  const value = Number(typed)
  return /^\d+$/.test(typed) && value >= 1 && value <= most ? value : undefined
}

/** What an edit asks for, and the limits that are in force then; undefined where a field is wrong. */
export function editOf({ tier, reads, writes }: TypedLimits) {
  const isOwn = tier === 'enterprise'
  const [ownReads, ownWrites] = isOwn ? [ownLimit(reads), ownLimit(writes)] : [null, null]
  if (ownReads === undefined || ownWrites === undefined) return undefined
  const after = { reads: ownReads ?? tierLimits[tier].reads, writes: ownWrites ?? tierLimits[tier].writes }
  // What is not sent stays as it is: both are, or neither.
  const limits =
    ownReads === null && ownWrites === null ? null : { reads_per_minute: after.reads, writes_per_minute: after.writes }
  return { body: { tier, ...(isOwn && { limits }) }, ...after }
}
