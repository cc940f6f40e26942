import type { useFormatter } from 'next-intl'
import { spacedDigits } from './punctuation.ts'

interface Duration {
  unit: 'day' | 'hour' | 'minute' | 'second'
  n: number
}

/** A length of time in the largest unit of which it has at least two, rounded down; at least one second. */
export function durationOf(seconds: number): Duration {
  if (seconds >= 2 * 86_400) return { unit: 'day', n: Math.floor(seconds / 86_400) }
  if (seconds >= 2 * 3_600) return { unit: 'hour', n: Math.floor(seconds / 3_600) }
  if (seconds >= 120) return { unit: 'minute', n: Math.floor(seconds / 60) }
  return { unit: 'second', n: Math.max(1, Math.floor(seconds)) }
}

/** A length of time in words, such as “9 minutes”. */
export function durationText(format: ReturnType<typeof useFormatter>, seconds: number): string {
  const { unit, n } = durationOf(seconds)
  return spacedDigits(format.number(n, { style: 'unit', unit, unitDisplay: 'long' }))
}
