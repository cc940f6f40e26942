import { useFormatter, useTranslations } from 'next-intl'
import { Bars } from '#components/ui/chart.tsx'
import { Card } from '#components/ui/page.tsx'
import type { Dashboard } from './dashboard-data.ts'

/** Privacy requests received and closed in the last weeks. */
export function TrendCard({ trend }: { trend: NonNullable<Dashboard['trend']> }) {
  const t = useTranslations('overview.admin.trend')
  const format = useFormatter()
  return (
    <Card title={t('title')}>
      <Bars
        label={t('title')}
        isGrouped
        data={trend.map(({ from, received, closed }) => ({
          label: format.dateTime(new Date(from), { day: 'numeric', month: 'short' }),
          values: { received, closed },
        }))}
        series={[
          { key: 'received', title: t('received'), tone: 'accent' },
          { key: 'closed', title: t('closed'), tone: 'quiet' },
        ]}
      />
    </Card>
  )
}
