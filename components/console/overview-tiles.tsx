import { useTranslations } from 'next-intl'
import { type StatTile, StatTiles } from '#components/ui/stat-tiles.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Overview } from './overview.ts'

/** The earliest automatic deletion: of a record, a download or the data of a closed project. */
function nextDeletion({ expiring, closing }: Pick<Overview, 'expiring' | 'closing'>): string | undefined {
  const moments = [
    ...expiring.by_visibility.map(({ first_at }) => first_at),
    ...expiring.exports.map(({ expires_at }) => expires_at),
    ...closing.map(({ closes_at }) => closes_at),
  ]
  return moments.sort()[0]
}

/** The numbers of a person, each with a link to its list. */
export function OverviewTiles({ overview }: { overview: Overview }) {
  const t = useTranslations('overview.tiles')
  const { held, agents, tokens, requests, expiring } = overview
  const next = nextDeletion(overview)
  const ofAgents = [
    ...(agents.restricted > 0 ? [t('restricted', { count: agents.restricted })] : []),
    ...(agents.suspended > 0 ? [t('suspended', { count: agents.suspended })] : []),
  ]
  const tiles: StatTile[] = [
    {
      label: t('records'),
      value: held.records,
      hint: t('stores', { count: held.stores }),
      href: '/settings/privacy',
    },
    {
      label: t('agents'),
      value: agents.total,
      href: '/agents',
      ...(ofAgents.length > 0 && { hint: ofAgents.join(' · ') }),
    },
    {
      label: t('tokens'),
      value: tokens.active,
      href: '/tokens',
      ...(tokens.expiring > 0 && { hint: t('expiring', { count: tokens.expiring }), tone: 'warning' as const }),
    },
    ...(requests.open === 0
      ? []
      : [{ label: t('requests'), value: requests.open, href: '/settings/privacy/requests' }]),
    ...(next === undefined
      ? []
      : [{ label: t('next'), value: <Time key="next" at={next} show="relative" />, href: '#expiring' }]),
    ...(expiring.total === 0
      ? []
      : [
          {
            label: t('expiringRecords'),
            value: expiring.total,
            hint: t('within', { days: expiring.days }),
            href: '#expiring',
          },
        ]),
  ]
  return <StatTiles tiles={tiles} />
}
