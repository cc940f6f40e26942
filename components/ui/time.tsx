import { useFormatter, useNow } from 'next-intl'

const shape = {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
} as const

const dayShape = { day: 'numeric', month: 'short', year: 'numeric' } as const

/**
 * A moment in the reader's time zone, with UTC on hover and in print. `relative` adds the distance from now; `isDay` shows only the date.
 */
export function Time({ at, relative = false, isDay = false }: { at: string; relative?: boolean; isDay?: boolean }) {
  const format = useFormatter()
  const now = useNow()
  const date = new Date(at)
  const utc = `${at.slice(0, 16).replace('T', ' ')} UTC`
  return (
    <time dateTime={at} title={utc} className="tabular-nums">
      <span className="whitespace-nowrap">{format.dateTime(date, isDay ? dayShape : shape)}</span>
      <span className="hidden whitespace-nowrap text-quiet print:inline"> ({utc})</span>
      {relative && <span className="text-quiet print:hidden"> ({format.relativeTime(date, now)})</span>}
    </time>
  )
}
