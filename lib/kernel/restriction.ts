/** Why processing is restricted: consent withdrawn (GDPR art. 7(3)), requested (art. 18(1)), objection (art. 21 with 18(1)(d)). */
export const restrictionReasons = ['consent', 'objection', 'request'] as const
export type RestrictionReason = (typeof restrictionReasons)[number]

export interface Restriction {
  /** Set while at least one reason remains. */
  restrictedAt: Date | null
  restrictedFor: string[]
}

/** Adds a reason. If processing is already restricted, the start time does not change. */
export const restrictedBy = (
  { restrictedAt, restrictedFor }: Restriction,
  reason: RestrictionReason,
  now: Date,
): Restriction => ({
  restrictedAt: restrictedAt ?? now,
  restrictedFor: restrictedFor.includes(reason) ? restrictedFor : [...restrictedFor, reason].sort(),
})

/** Removes a reason. Removing the last one lifts the restriction. */
export function freedOf({ restrictedAt, restrictedFor }: Restriction, reason: RestrictionReason): Restriction {
  if (!restrictedFor.includes(reason)) return { restrictedAt, restrictedFor }
  const left = restrictedFor.filter((other) => other !== reason)
  return { restrictedAt: left.length === 0 ? null : restrictedAt, restrictedFor: left }
}
