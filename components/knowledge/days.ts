/** Milliseconds by which the zone is ahead of UTC at that moment. */
function ahead(at: Date, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(at)
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value)
  const local = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
  return local - Math.floor(at.getTime() / 1_000) * 1_000
}

/** The day that it is in a zone then, as `2026-01-31`. */
export const dayOf = (at: Date, timeZone: string): string =>
  new Date(Math.floor(at.getTime() / 1_000) * 1_000 + ahead(at, timeZone)).toISOString().slice(0, 10)

/** When a day (`2026-01-31`) begins in a zone; undefined for what is no day from 2000 to 9998. */
export function beginningOf(day: string, timeZone: string): Date | undefined {
  const guess = new Date(`${day}T00:00:00Z`)
  if (!/^[2-9]\d{3}-\d\d-\d\d$/.test(day) || Number.isNaN(guess.getTime()) || guess.toISOString().slice(0, 10) !== day)
    return undefined
  if (guess.getUTCFullYear() > 9998) return undefined
  // Twice: on the day on which clocks are put on, the first try may be an hour off.
  const first = new Date(guess.getTime() - ahead(guess, timeZone))
  return new Date(guess.getTime() - ahead(first, timeZone))
}

/** The last millisecond of a day in a zone. */
export function endOf(day: string, timeZone: string): Date | undefined {
  const start = beginningOf(day, timeZone)
  if (!start) return undefined
  const following = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10)
  const next = beginningOf(following, timeZone)
  return next && new Date(next.getTime() - 1)
}
