import { usageFailure } from './failure.ts'

/** Accepts `2026-01-31` or an ISO 8601 time. */
export function timeOf(option: string, text: string): string {
  const at = new Date(text)
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(at.getTime()))
    throw usageFailure(
      `${option} must be a day or an ISO 8601 time, such as 2026-01-31 or 2026-01-31T12:00:00Z, not "${text}".`,
    )
  return at.toISOString()
}
