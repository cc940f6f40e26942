export const holdKinds = ['unit', 'skill', 'agent', 'account', 'project'] as const
export type HoldKind = (typeof holdKinds)[number]

/** How many holds tokens of scope `admin` create in a day, all together. */
export const holdsOfTokensPerDay = 100

/** Returns true when the hold is in force at that time: neither released nor expired. */
export const isInForce = (hold: { releasedAt: Date | null; expiresAt: Date | null }, now: Date): boolean =>
  hold.releasedAt === null && (hold.expiresAt === null || hold.expiresAt.getTime() > now.getTime())
