/** Why processing is restricted: consent withdrawn (GDPR art. 7(3)), asked for (art. 18(1)), objected to (art. 21 with 18(1)(d)). */
export const restrictionReasons = ['consent', 'objection', 'request'] as const
export type RestrictionReason = (typeof restrictionReasons)[number]

export interface Restriction {
  /** Set while there is a reason. */
  restrictedAt: Date | null
  restrictedFor: string[]
}

/** The restriction with one more reason; who was restricted before stays so since then. */
export const restrictedBy = (
  { restrictedAt, restrictedFor }: Restriction,
  reason: RestrictionReason,
  now: Date,
): Restriction => ({
  restrictedAt: restrictedAt ?? now,
  restrictedFor: restrictedFor.includes(reason) ? restrictedFor : [...restrictedFor, reason].sort(),
})

/** The restriction without that reason: lifted with the last one. */
export function freedOf({ restrictedAt, restrictedFor }: Restriction, reason: RestrictionReason): Restriction {
  if (!restrictedFor.includes(reason)) return { restrictedAt, restrictedFor }
  const left = restrictedFor.filter((other) => other !== reason)
  return { restrictedAt: left.length === 0 ? null : restrictedAt, restrictedFor: left }
}
