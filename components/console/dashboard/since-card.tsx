import { useTranslations } from 'next-intl'
import { FactList } from '#components/ui/facts.tsx'
import { Card } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Dashboard } from './dashboard-data.ts'

/** What changed since the reader's last sign-in. */
export function SinceCard({ since }: { since: NonNullable<Dashboard['since']> }) {
  const t = useTranslations('overview.admin.since')
  return (
    <Card
      title={t('title')}
      actions={
        <span className="text-sm text-quiet">
          <Time at={since.at} show="relative" />
        </span>
      }
    >
      <FactList
        facts={[
          [t('received'), since.received],
          [t('closed'), since.closed],
          [t('receipts'), since.receipts],
        ]}
      />
    </Card>
  )
}
