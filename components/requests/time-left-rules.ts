export interface TimeLeftSpan {
  unit: 'days' | 'hours' | 'minutes'
  n: number
}
const twoDays = 2 * 86_400
/** A duration as one number: days from two days, hours from two hours, otherwise minutes. Rounded down. */
export function spanOf(seconds: number): TimeLeftSpan {
  const whole = Math.abs(seconds)
  if (whole >= twoDays) return { unit: 'days', n: Math.floor(whole / 86_400) }
  if (whole >= 2 * 3_600) return { unit: 'hours', n: Math.floor(whole / 3_600) }
  return { unit: 'minutes', n: Math.floor(whole / 60) }
}

/** The colour of a running clock, the same for each deadline: amber below two days, red when it has passed. */
export const toneOfTimeLeft = (secondsLeft: number) =>
  secondsLeft < 0 ? 'red' : secondsLeft < twoDays ? 'amber' : 'plain'

/** The text key and colour of a due tag for a clock state (`ok`, `near`, `overdue`, `paused`, `stopped`). */
export function timeLeftOf(due: string, secondsLeft: number | null) {
  if (due === 'stopped' || secondsLeft === null) return { says: 'stopped', tone: 'plain' } as const
  if (due === 'paused') return { says: secondsLeft < 0 ? 'pausedOver' : 'paused', tone: 'plain' } as const
  return { says: secondsLeft < 0 ? 'over' : 'left', tone: toneOfTimeLeft(secondsLeft) } as const
}

export interface ClockHand {
  /** Share of the whole period, from 0 to 1. */
  elapsed: number
  secondsLeft: number
}
/** The progress of one clock from its start to its end. */
export function handOf(from: string, until: string, now: Date): ClockHand {
  const [begin, end] = [Date.parse(from), Date.parse(until)]
  const elapsed = end <= begin ? 1 : (now.getTime() - begin) / (end - begin)
  return { elapsed: Math.min(1, Math.max(0, elapsed)), secondsLeft: Math.floor((end - now.getTime()) / 1_000) }
}

/**
 * Seconds until the legal deadline, for the person concerned. `seconds_left` counts until the earlier deadline, which is ours: only admins
 * work by it.
 */
export function legalSecondsLeft({
  seconds_left,
  due_at,
  legal_due_at,
}: {
  seconds_left: number | null
  due_at: string | null
  legal_due_at: string
}): number | null {
  if (seconds_left === null || due_at === null) return seconds_left
  const later = Date.parse(legal_due_at) - Date.parse(due_at)
  return seconds_left + Math.max(0, Math.floor(later / 1_000))
}
