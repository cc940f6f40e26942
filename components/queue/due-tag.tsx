import { useFormatter, useTranslations } from 'next-intl'
import type { TimeLeftSpan } from '#components/requests/time-left-rules.ts'
import { Badge, type BadgeTone } from '#components/ui/badge.tsx'
import { dueOf } from './due.ts'
import type { AdminRequest } from './endpoints.ts'

const shape = {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
} as const

const tones = { plain: 'neutral', amber: 'warning', red: 'danger' } as const satisfies Record<string, BadgeTone>

/** A duration in words: "3 days". */
function useSpanWords() {
  const t = useTranslations('queue.duration')
  return ({ unit, n }: TimeLeftSpan): string => t(unit, { n })
}

/** The remaining time in words. The exact time, local and UTC, is in the tooltip and available to screen readers. */
export function DueStatusTag({ request }: { request: AdminRequest }) {
  const t = useTranslations('queue.due')
  const format = useFormatter()
  const words = useSpanWords()
  const { says, tone, span, at, clock } = dueOf(request)
  const exact =
    at &&
    `${t('exact', { at: format.dateTime(new Date(at), shape), utc: `${at.slice(0, 16).replace('T', ' ')} UTC` })}, ${t(clock)}`
  return (
    <Badge tone={tones[tone]} title={exact ?? undefined}>
      {says === 'stopped' ? t('stopped') : t(says, { left: words(span) })}
      {tone === 'amber' && <span className="sr-only">, {t('near')}</span>}
      {exact && <span className="sr-only">. {exact}</span>}
    </Badge>
  )
}
