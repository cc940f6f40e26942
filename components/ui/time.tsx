import { useFormatter, useNow } from 'next-intl'

/** A moment in the reader's zone; UTC on hover. `relative` adds how far away it is. */
export function Time({ at, relative = false }: { at: string; relative?: boolean }) {
  const format = useFormatter()
  const now = useNow()
  const date = new Date(at)
  const utc = `${at.slice(0, 16).replace('T', ' ')} UTC`
  return (
    <time dateTime={at} title={utc} className="tabular-nums">
      {format.dateTime(date, { dateStyle: 'medium', timeStyle: 'short' })}
      {relative && <span className="text-quiet"> ({format.relativeTime(date, now)})</span>}
    </time>
  )
}
