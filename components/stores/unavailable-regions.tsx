import { useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'

interface UnavailableRegionsProps {
  /** Whether projects (`away`) or agents (`awayAgents`) require the regions. */
  of: 'away' | 'awayAgents'
  total: number
  ids: readonly string[]
}
/** Projects or agents whose required region is no longer available. */
export function UnavailableRegions({ of, total, ids }: UnavailableRegionsProps) {
  const t = useTranslations('stores')
  if (total === 0) return null
  return (
    <Alert tone="danger" title={t(`${of}.title`, { count: total })}>
      <p>{t(`${of}.text`)}</p>
      <p>{t('regionsText')}</p>
      <ul className="flex flex-wrap gap-x-4 gap-y-1">
        {ids.map((id) => (
          <li key={id}>
            <CopyableId id={id} what={t(`${of}.id`)} />
          </li>
        ))}
      </ul>
    </Alert>
  )
}
