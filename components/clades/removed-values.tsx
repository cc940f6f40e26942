import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { removedCounts } from './manifest.ts'

/** Kinds and counts of removed data, never the data itself. */
export function RemovedValues({ removed }: { removed: Readonly<Record<string, unknown>> }) {
  const t = useTranslations('agentSharing')
  const common = useTranslations('common')
  const kindNames = useTranslations('sensitiveKinds')
  const kinds = removedCounts(removed)
  if (kinds.length === 0) return <p>{t('nothingTakenOut')}</p>
  return (
    <ul className="flex flex-wrap gap-2">
      {kinds.map(({ kind, count }) => (
        <li key={kind}>
          <Badge>{common('nameCount', { name: kindNames(kind), count })}</Badge>
        </li>
      ))}
    </ul>
  )
}
