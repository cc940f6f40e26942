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

/** At most four numbers of a person, each with a link to its list. A number that is zero is absent, except for data and agents. */
export function OverviewTiles({ overview }: { overview: Overview }) {
  const t = useTranslations('overview.tiles')
  const { held, agents, tokens, requests, expiring } = overview
  const next = nextDeletion(overview)
  const ofAgents = [
    ...(tokens.expiring > 0 ? [t('expiring', { count: tokens.expiring })] : []),
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
    ...(requests.open === 0
      ? []
      : [{ label: t('requests'), value: requests.open, href: '/settings/privacy/requests' }]),
    ...(next === undefined
      ? []
      : [
          {
            label: t('next'),
            value: <Time key="next" at={next} show="relative" />,
            // A list without entries is absent below.
            href: expiring.by_visibility.length + expiring.exports.length > 0 ? '#expiring' : '#closing',
            ...(expiring.total > 0 && { hint: t('within', { count: expiring.total, days: expiring.days }) }),
          },
        ]),
  ]
  return <StatTiles tiles={tiles} />
}
