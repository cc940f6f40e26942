import { useTranslations } from 'next-intl'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Overview } from './overview.ts'

/** Data that expires soon: units and skills at the end of their retention period, and downloads. */
export function ExpiringSoonCard({ expiring }: { expiring: Overview['expiring'] }) {
  const t = useTranslations('overview.expiring')
  const { by_visibility: groups, exports } = expiring
  return (
    <ul className="divide-y divide-line border-y border-line">
      {groups.map(({ visibility, count, first_at }) => (
        <li key={visibility} className="flex flex-wrap items-baseline gap-x-4 py-2.5">
          <TextLink href={`/knowledge?visibility=${visibility}`} className="grow">
            {t('count', { count, visibility })}
          </TextLink>
          <span className="text-sm text-quiet">
            {t.rich('first', { time: () => <Time key="first" at={first_at} relative /> })}
          </span>
        </li>
      ))}
      {exports.map(({ id, expires_at, records, is_downloaded }) => (
        <li key={id} className="flex flex-wrap items-baseline gap-x-4 py-2.5">
          <TextLink href="/settings/privacy?tab=download" className="grow">
            {t('export', { records })}
          </TextLink>
          <span className="text-sm text-quiet">
            {!is_downloaded && <>{t('notFetched')} · </>}
            {t.rich('exportUntil', { time: () => <Time key="until" at={expires_at} relative /> })}
          </span>
        </li>
      ))}
    </ul>
  )
}
