import { useFormatter, useTranslations } from 'next-intl'
import { timeLeftTones, useSpanWords } from '#components/requests/time-left.tsx'
import { Badge } from '#components/ui/badge.tsx'
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

/**
 * The time until the earlier deadline, and which deadline that is. The exact time, local and UTC, is in the tooltip and available to screen
 * readers.
 */
export function DueStatusTag({ request }: { request: AdminRequest }) {
  const t = useTranslations('queue.due')
  const format = useFormatter()
  const words = useSpanWords()
  const { says, tone, span, at, clock } = dueOf(request)
  const exact =
    at && t('exact', { at: format.dateTime(new Date(at), shape), utc: `${at.slice(0, 16).replace('T', ' ')} UTC` })
  return (
    <span className="inline-flex flex-wrap items-baseline gap-x-2">
      <Badge tone={timeLeftTones[tone]} title={exact ?? undefined}>
        {says === 'stopped' ? t('stopped') : t(says, { left: words(span) })}
        {exact && <span className="sr-only">. {exact}</span>}
      </Badge>
      {at && <span className="text-sm text-quiet">{t(clock)}</span>}
    </span>
  )
}
