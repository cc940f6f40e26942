import { useFormatter, useNow } from 'next-intl'
import { spacedDigits, usePunctuation } from './punctuation.ts'

const shape = {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
} as const

/** Milliseconds. */
const minute = 60_000
const dayShape = { day: 'numeric', month: 'short', year: 'numeric' } as const

interface TimeProps {
  at: string
  /** `relative` for what happened ("3 hours ago"), `both` for deadlines, `exact` where people compare times. */
  show?: 'exact' | 'relative' | 'both'
  /** The same as `show="both"`. */
  relative?: boolean
  /** Shows only the date. */
  isDay?: boolean
}

/** A moment in the reader's time zone. Hover and print show it to the minute, also in UTC. */
export function Time({ at, relative = false, show = relative ? 'both' : 'exact', isDay = false }: TimeProps) {
  const format = useFormatter()
  const now = useNow()
  const { open, close } = usePunctuation()
  const date = new Date(at)
  const utc = `${at.slice(0, 16).replace('T', ' ')} UTC`
  const exact = format.dateTime(date, isDay ? dayShape : shape)
  const ahead = date.getTime() - now.getTime()
  // A page may name something that happened after it read its clock.
  const distance = spacedDigits(format.relativeTime(ahead > 0 && ahead < minute ? now : date, now))
  return (
    <time dateTime={at} title={`${format.dateTime(date, shape)} (${utc})`} className="tabular-nums">
      {show === 'relative' && <span className="whitespace-nowrap print:hidden">{distance}</span>}
      <span className={show === 'relative' ? 'hidden whitespace-nowrap print:inline' : 'whitespace-nowrap'}>
        {exact}
      </span>
      <span className="hidden whitespace-nowrap text-quiet print:inline"> ({utc})</span>
      {show === 'both' && (
        <span className="text-quiet print:hidden">
          {open.startsWith(' ') && ' '}
          <span className="whitespace-nowrap">
            {open.trimStart()}
            {distance}
            {/* Half of a full-width bracket is empty, and a space may follow it. */}
            <span className={close === ')' ? undefined : '-mr-[0.35em]'}>{close}</span>
          </span>
        </span>
      )}
    </time>
  )
}
