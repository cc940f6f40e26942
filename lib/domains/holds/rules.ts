export const holdKinds = ['unit', 'skill', 'agent', 'account', 'project'] as const
export type HoldKind = (typeof holdKinds)[number]

/** Whether a hold stops anything at that time: neither released nor past its end. */
export const isInForce = (hold: { releasedAt: Date | null; expiresAt: Date | null }, now: Date): boolean =>
  hold.releasedAt === null && (hold.expiresAt === null || hold.expiresAt.getTime() > now.getTime())
