const day = 24 * 3_600_000

/** From the closing of a project to the erasure of its data, in milliseconds. */
export const closingWindow = 30 * day
export const closesAtOf = (closingAt: Date): Date => new Date(closingAt.getTime() + closingWindow)

/** Why a project is closed, unless told. */
export const usualReason = 'deal_closure'

/** Letters of a closing to the members, in their order: at once, 7 days and 1 day before the end, and at the end. */
export const closingLetters = ['begun', 'week', 'day', 'gone'] as const
export type ClosingLetter = (typeof closingLetters)[number]
/** How long before the end each is due; the first at once. */
const ahead: Record<ClosingLetter, number> = { begun: closingWindow, week: 7 * day, day, gone: 0 }

/**
 * Of a project that closes: how many letters should have gone by now, and the one to be sent where that is more than went. After a day on
 * which nothing was sent, the newest goes alone: what the others said is over. The last goes with the erasure, never before.
 */
export function letterDue(
  closesAt: Date,
  sent: number,
  now: Date,
): { letter: Exclude<ClosingLetter, 'gone'>; sent: number } | undefined {
  const waiting = (['begun', 'week', 'day'] as const).filter(
    (letter) => closesAt.getTime() - ahead[letter] <= now.getTime(),
  )
  const letter = waiting.at(-1)
  return letter !== undefined && waiting.length > sent ? { letter, sent: waiting.length } : undefined
}

/** Whether its data goes now: the window is over. A hold makes it wait. */
export const isOver = (closesAt: Date, now: Date): boolean => closesAt.getTime() <= now.getTime()
