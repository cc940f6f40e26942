export interface Span {
  unit: 'days' | 'hours' | 'minutes'
  n: number
}
/** A length of time in one number: days from two on, hours from two on, else minutes. Never more than it is. */
export function spanOf(seconds: number): Span {
  const whole = Math.abs(seconds)
  if (whole >= 2 * 86_400) return { unit: 'days', n: Math.floor(whole / 86_400) }
  if (whole >= 2 * 3_600) return { unit: 'hours', n: Math.floor(whole / 3_600) }
  return { unit: 'minutes', n: Math.floor(whole / 60) }
}

/** What the tag of a request says, by how its clocks stand (`ok`, `near`, `overdue`, `paused`, `stopped`). */
export function leftOf(due: string, secondsLeft: number | null) {
  if (due === 'stopped') return { says: 'stopped', tone: 'plain' } as const
  if (due === 'paused') return { says: (secondsLeft ?? 0) < 0 ? 'pausedOver' : 'paused', tone: 'plain' } as const
  if (due === 'overdue') return { says: 'over', tone: 'red' } as const
  return { says: 'left', tone: due === 'near' ? 'amber' : 'plain' } as const
}

export interface ClockHand {
  /** Of the whole term, 0–1. */
  elapsed: number
  secondsLeft: number
}
/** How far one clock is: from when it began to when it ends. */
export function handOf(from: string, until: string, now: Date): ClockHand {
  const [begin, end] = [Date.parse(from), Date.parse(until)]
  const elapsed = end <= begin ? 1 : (now.getTime() - begin) / (end - begin)
  return { elapsed: Math.min(1, Math.max(0, elapsed)), secondsLeft: Math.floor((end - now.getTime()) / 1_000) }
}
