import { type TierName, tierLimits } from '#lib/domains/tokens/rules.ts'

export interface TypedLimits {
  tier: TierName
  /** Requests per minute and token, as typed; empty for the limit of the tier. */
  reads: string
  writes: string
}

const most = 1_000_000

/** Parses a custom limit: a whole number from 1 to a million, null for the tier's limit; undefined if invalid. */
export function agentLimit(text: string): number | null | undefined {
  const typed = text.trim()
  if (typed === '') return null
  const value = Number(typed)
  return /^\d+$/.test(typed) && value >= 1 && value <= most ? value : undefined
}

/** The request body of an edit and the resulting limits; undefined if a field is invalid. */
export function editOf({ tier, reads, writes }: TypedLimits) {
  const isOwn = tier === 'enterprise'
  const [ownReads, ownWrites] = isOwn ? [agentLimit(reads), agentLimit(writes)] : [null, null]
  if (ownReads === undefined || ownWrites === undefined) return undefined
  const after = { reads: ownReads ?? tierLimits[tier].reads, writes: ownWrites ?? tierLimits[tier].writes }
  // The API keeps a limit that is not sent: send both or neither.
  const limits =
    ownReads === null && ownWrites === null ? null : { reads_per_minute: after.reads, writes_per_minute: after.writes }
  return { body: { tier, ...(isOwn && { limits }) }, ...after }
}
