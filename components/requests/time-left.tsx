import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { spanOf, type TimeLeftSpan, timeLeftOf } from './time-left-rules.ts'

/** A duration in words: "3 days". Needs the messages `requests`. */
export function useSpanWords() {
  const t = useTranslations('requests.duration')
  return ({ unit, n }: TimeLeftSpan): string => t(unit, { n })
}

const tones = { plain: 'neutral', amber: 'warning', red: 'danger' } as const

/** The time until the earlier of the two limits: amber below a quarter, red when overdue. */
export function TimeLeft({ due, seconds_left }: { due: string; seconds_left: number | null }) {
  const t = useTranslations('requests.due')
  const words = useSpanWords()
  const { says, tone } = timeLeftOf(due, seconds_left)
  return (
    <Badge tone={tones[tone]}>
      {says === 'stopped' ? t('stopped') : t(says, { left: words(spanOf(seconds_left ?? 0)) })}
    </Badge>
  )
}
