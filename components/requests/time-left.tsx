import { useFormatter, useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { spacedDigits } from '#components/ui/punctuation.ts'
import { spanOf, type TimeLeftSpan, timeLeftOf } from './time-left-rules.ts'

const units = { days: 'day', hours: 'hour', minutes: 'minute' } as const

/** A duration in words: "3 days". */
export function useSpanWords() {
  const format = useFormatter()
  return ({ unit, n }: TimeLeftSpan): string =>
    spacedDigits(format.number(n, { style: 'unit', unit: units[unit], unitDisplay: 'long' }))
}

export const timeLeftTones = { plain: 'neutral', amber: 'warning', red: 'danger' } as const

/** The time until the earlier of the two deadlines. */
export function TimeLeft({ due, seconds_left }: { due: string; seconds_left: number | null }) {
  const t = useTranslations('requests.due')
  const words = useSpanWords()
  const { says, tone } = timeLeftOf(due, seconds_left)
  return (
    <Badge tone={timeLeftTones[tone]}>
      {says === 'stopped' ? t('stopped') : t(says, { left: words(spanOf(seconds_left ?? 0)) })}
    </Badge>
  )
}
