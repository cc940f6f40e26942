import { useTranslations } from 'next-intl'
import { erasuresAddress } from '#components/erasures/filters.ts'
import { type StatTile, StatTiles } from '#components/ui/stat-tiles.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { Waiting } from './dashboard-data.ts'

/** Most tiles. The rest is one line. */
const maxTiles = 4

type Item = StatTile & { value: number; href: string }
/** What waits for an admin, the most urgent first, without zeros. A number that the reader may not see is absent. */
function useWaiting({ requests, erasures, quarantined, holds, outbox, approvals, revocations }: Waiting): Item[] {
  const t = useTranslations('overview.admin.tiles')
  const item = (label: string, value: number | null | undefined, href: string, tone?: StatTile['tone']): Item[] =>
    value ? [{ label, value, href, ...(tone && { tone }) }] : []
  return [
    ...item(t('overdue'), requests?.overdue, '/admin/requests?due=overdue', 'danger'),
    ...item(t('stuck'), erasures?.stuck, erasuresAddress({ state: 'stuck' }), 'danger'),
    ...item(t('failed'), erasures?.failed, erasuresAddress({ state: 'failed' }), 'danger'),
    ...item(t('unconfirmed'), requests?.unconfirmed, '/admin/requests#unconfirmed', 'warning'),
    ...item(t('approvals'), approvals?.waiting, '/admin/approvals', 'warning'),
    ...item(t('undelivered'), outbox?.undelivered, '/admin/outbox', 'danger'),
    ...item(t('week'), requests?.week, '/admin/requests?due=week'),
    ...item(t('quarantined'), quarantined, '/admin/safety', 'warning'),
    ...item(t('holds'), holds?.ending, '/admin/holds'),
    // Without a mail server, emails are only stored.
    ...item(t('stored'), outbox?.files, '/admin/outbox'),
    ...item(t('revocations'), revocations?.recent, '/admin/tokens'),
    ...item(t('open'), requests?.open, '/admin/requests'),
  ]
}

/** The most urgent numbers as tiles, the others in one line. */
export function WaitingTiles({ waiting }: { waiting: Waiting }) {
  const t = useTranslations('overview.admin.tiles')
  const items = useWaiting(waiting)
  const others = items.slice(maxTiles)
  if (items.length === 0) return <p className="text-quiet">{t('nothing')}</p>
  return (
    <div className="grid gap-3">
      <StatTiles tiles={items.slice(0, maxTiles)} />
      {others.length > 0 && (
        <ul className="flex flex-wrap gap-x-5 gap-y-1 text-sm">
          {others.map(({ label, value, href }) => (
            <li key={label}>
              <TextLink href={href}>{t('other', { label, count: value })}</TextLink>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
