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

/** What clocks of the zone show then, to the second: `2026-01-31T12:00:00`. */
const shownAt = (at: Date, timeZone: string): string =>
  new Date(Math.floor(at.getTime() / 1_000) * 1_000 + ahead(at, timeZone)).toISOString().slice(0, 19)
/** When clocks of the zone show what UTC's do at `shown`. An hour that a clock skips counts as the one after. */
function whenShown(shown: Date, timeZone: string): Date {
  // Twice: the first guess may lie on the other side of a change of the clock.
  const first = new Date(shown.getTime() - ahead(shown, timeZone))
  return new Date(shown.getTime() - ahead(first, timeZone))
}

/** The day that it is in a zone then, as `2026-01-31`. */
export const dayOf = (at: Date, timeZone: string): string => shownAt(at, timeZone).slice(0, 10)

/** When a day (`2026-01-31`) begins in a zone; undefined for what is no day from 2000 to 9998. */
export function beginningOf(day: string, timeZone: string): Date | undefined {
  const midnight = new Date(`${day}T00:00:00Z`)
  if (
    !/^[2-9]\d{3}-\d\d-\d\d$/.test(day) ||
    Number.isNaN(midnight.getTime()) ||
    midnight.toISOString().slice(0, 10) !== day
  )
    return undefined
  return midnight.getUTCFullYear() > 9998 ? undefined : whenShown(midnight, timeZone)
}

/** The last millisecond of a day in a zone. */
export function endOf(day: string, timeZone: string): Date | undefined {
  const start = beginningOf(day, timeZone)
  if (!start) return undefined
  const following = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10)
  const next = beginningOf(following, timeZone)
  return next && new Date(next.getTime() - 1)
}

/** A moment as a field for local time has it, in that zone; empty for what is none. */
export function fieldTime(iso: string | null, timeZone: string): string {
  const at = new Date(iso ?? Number.NaN)
  return Number.isNaN(at.getTime()) || at.getUTCFullYear() > 9998 ? '' : shownAt(at, timeZone)
}
/** The moment that a field for local time means in that zone; null for an empty one. */
export function momentOf(field: string, timeZone: string): string | null {
  const shown = new Date(`${field.length === 16 ? `${field}:00` : field}Z`)
  return Number.isNaN(shown.getTime()) ? null : whenShown(shown, timeZone).toISOString()
}
