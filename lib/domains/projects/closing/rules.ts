const day = 24 * 3_600_000

/** Time between the closing of a project and the erasure of its data, in milliseconds. */
export const closingWindow = 30 * day
export const closesAtOf = (closingAt: Date): Date => new Date(closingAt.getTime() + closingWindow)

/** Default reason for closing a project. */
export const usualReason = 'deal_closure'

/** Emails to the members in order: at closing, 7 days and 1 day before the erasure, and at the erasure. */
export const closingEmails = ['begun', 'week', 'day', 'gone'] as const
export type ClosingEmail = (typeof closingEmails)[number]
/** How long before the erasure each email is due, in milliseconds. */
const ahead: Record<ClosingEmail, number> = { begun: closingWindow, week: 7 * day, day, gone: 0 }

/**
 * The email that is due for a closing project, with the number of emails due so far; undefined if it was sent. After a period without
 * sending, only the newest email is sent, because the others are outdated. The last email is sent with the erasure, never before.
 */
export function emailDue(
  closesAt: Date,
  sent: number,
  now: Date,
): { letter: Exclude<ClosingEmail, 'gone'>; sent: number } | undefined {
  const waiting = (['begun', 'week', 'day'] as const).filter(
    (email) => closesAt.getTime() - ahead[email] <= now.getTime(),
  )
  const letter = waiting.at(-1)
  return letter !== undefined && waiting.length > sent ? { letter, sent: waiting.length } : undefined
}

/** Whether the 30 days are over. A legal hold still postpones the erasure. */
export const isClosingOver = (closesAt: Date, now: Date): boolean => closesAt.getTime() <= now.getTime()
