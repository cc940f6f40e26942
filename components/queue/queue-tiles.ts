import type { useFormatter } from 'next-intl'
import type { getTranslations } from 'next-intl/server'
import { durationText } from '#components/ui/duration.ts'
import type { StatTile } from '#components/ui/stat-tiles.tsx'

interface QueueNumbers {
  open: number
  unassigned: number
  overdue: number
  legally_overdue: number
  /** Due within seven days. */
  week: number
  /** Closed in the last 90 days, without cancelled ones. */
  closed: number
  median_days: number | null
}

type Words = Awaited<ReturnType<typeof getTranslations<'queue.stats'>>>

/** The numbers above the queue. A median needs at least one closed request. */
export const queueTiles = (
  t: Words,
  format: ReturnType<typeof useFormatter>,
  { open, unassigned, overdue, legally_overdue, week, closed, median_days }: QueueNumbers,
): StatTile[] => [
  {
    label: t('open'),
    value: open,
    hint: t('unassigned', { count: unassigned }),
    href: unassigned > 0 ? '/admin/requests?assignee=none' : '/admin/requests',
  },
  {
    label: t('overdue'),
    value: overdue,
    ...(overdue > 0 && { tone: 'danger' as const, hint: t('legally', { count: legally_overdue }) }),
    href: '/admin/requests?due=overdue',
  },
  { label: t('week'), value: week, href: '/admin/requests?due=week' },
  {
    label: t('median'),
    value: median_days === null ? '–' : durationText(format, median_days * 86_400),
    hint: t('medianOf', { count: closed }),
  },
]
