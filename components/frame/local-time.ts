/** Offset of the time zone from UTC at that moment, in milliseconds. */
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

/** The local time in the zone, to the second: `2026-01-31T12:00:00`. */
const shownAt = (at: Date, timeZone: string): string =>
  new Date(Math.floor(at.getTime() / 1_000) * 1_000 + ahead(at, timeZone)).toISOString().slice(0, 19)
/**
 * The moment at which clocks in the zone show the UTC fields of `shown`. A local time that a clock change skips counts as one hour later.
 */
function whenShown(shown: Date, timeZone: string): Date {
  // Two passes: the first guess may be on the other side of a clock change.
  const first = new Date(shown.getTime() - ahead(shown, timeZone))
  return new Date(shown.getTime() - ahead(first, timeZone))
}

/** The calendar day in the zone, as `2026-01-31`. */
export const localDayOf = (at: Date, timeZone: string): string => shownAt(at, timeZone).slice(0, 10)

/** The start of a day (`2026-01-31`) in a zone; undefined for an invalid day or a year outside 2000–9998. */
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

/** The last millisecond of a day in a zone; undefined for an invalid day. */
export function endOf(day: string, timeZone: string): Date | undefined {
  const start = beginningOf(day, timeZone)
  if (!start) return undefined
  const following = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10)
  const next = beginningOf(following, timeZone)
  return next && new Date(next.getTime() - 1)
}

/** The value of a `datetime-local` field for a moment in that zone; empty for null or an invalid time. */
export function fieldTime(iso: string | null, timeZone: string): string {
  const at = new Date(iso ?? Number.NaN)
  return Number.isNaN(at.getTime()) || at.getUTCFullYear() > 9998 ? '' : shownAt(at, timeZone)
}
/** The moment that a `datetime-local` value means in that zone; null for an empty or invalid value. */
export function momentOf(field: string, timeZone: string): string | null {
  const shown = new Date(`${field.length === 16 ? `${field}:00` : field}Z`)
  return Number.isNaN(shown.getTime()) ? null : whenShown(shown, timeZone).toISOString()
}
