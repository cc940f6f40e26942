import { useTranslations } from 'next-intl'
import { erasuresAddress } from '#components/erasures/filters.ts'
import { type StatTile, StatTiles } from '#components/ui/stat-tiles.tsx'
import type { Waiting } from './dashboard-data.ts'

/** What waits for an admin. A number that the reader may not see is absent. */
export function WaitingTiles({ waiting }: { waiting: Waiting }) {
  const t = useTranslations('overview.admin.tiles')
  const { requests, erasures, quarantined, holds, outbox } = waiting
  const alarm = (count: number, tone: 'danger' | 'warning') => (count > 0 ? { tone } : {})
  const tiles: StatTile[] = []
  if (requests)
    tiles.push(
      { label: t('open'), value: requests.open, href: '/admin/requests' },
      {
        label: t('overdue'),
        value: requests.overdue,
        href: '/admin/requests?due=overdue',
        ...alarm(requests.overdue, 'danger'),
      },
      { label: t('week'), value: requests.week, href: '/admin/requests?due=week' },
    )
  if (erasures)
    tiles.push(
      {
        label: t('stuck'),
        value: erasures.stuck,
        href: erasuresAddress({ state: 'stuck' }),
        ...alarm(erasures.stuck, 'danger'),
      },
      {
        label: t('failed'),
        value: erasures.failed,
        href: erasuresAddress({ state: 'failed' }),
        ...alarm(erasures.failed, 'danger'),
      },
    )
  if (quarantined !== null)
    tiles.push({ label: t('quarantined'), value: quarantined, href: '/admin/safety', ...alarm(quarantined, 'warning') })
  // Without a mail server, emails are only stored.
  if (outbox && outbox.files !== null)
    tiles.push({
      label: t('stored'),
      value: outbox.files,
      hint: t('storedHint', { variable: 'KP_SMTP_URL' }),
      href: '/admin/outbox',
      ...alarm(outbox.files, 'warning'),
    })
  else if (outbox)
    tiles.push({
      label: t('undelivered'),
      value: outbox.undelivered,
      href: '/admin/outbox',
      ...alarm(outbox.undelivered, 'danger'),
    })
  if (holds) tiles.push({ label: t('holds'), value: holds.ending, href: '/admin/holds' })
  return <StatTiles tiles={tiles} />
}
