export interface ErasureLength {
  unit: 'days' | 'hours' | 'minutes' | 'seconds'
  n: number
}

/** The time between two moments as one number, rounded down; at least one second. */
export function durationOf(from: string, to: string | Date): ErasureLength {
  const seconds = Math.max(1, Math.floor((new Date(to).getTime() - new Date(from).getTime()) / 1_000))
  if (seconds >= 2 * 86_400) return { unit: 'days', n: Math.floor(seconds / 86_400) }
  if (seconds >= 2 * 3_600) return { unit: 'hours', n: Math.floor(seconds / 3_600) }
  if (seconds >= 120) return { unit: 'minutes', n: Math.floor(seconds / 60) }
  return { unit: 'seconds', n: seconds }
}
