import { useFormatter, useTranslations } from 'next-intl'
import { Bars } from '#components/ui/chart.tsx'
import { durationText } from '#components/ui/duration.ts'
import { FactList } from '#components/ui/facts.tsx'
import { Card } from '#components/ui/page.tsx'
import type { Dashboard } from './dashboard-data.ts'

const daySeconds = 86_400

/** Privacy requests in the last weeks: how many arrived, how fast they were answered, and how much was deleted. */
export function TrendCard({ trend }: { trend: NonNullable<Dashboard['trend']> }) {
  const t = useTranslations('overview.admin.trend')
  const format = useFormatter()
  const sum = (numberOf: (week: (typeof trend)[number]) => number) =>
    trend.reduce((all, week) => all + numberOf(week), 0)
  const answered = sum((week) => week.answered)
  const medians = trend
    .flatMap(({ median_days }) => (median_days === null ? [] : [median_days]))
    .toSorted((a, b) => a - b)
  const median = medians[Math.floor((medians.length - 1) / 2)]
  const deletions = sum((week) => week.deletions)
  const label = (from: string) => format.dateTime(new Date(from), { day: 'numeric', month: 'short' })
  return (
    <Card title={t('title')}>
      <Bars
        label={t('title')}
        isGrouped
        data={trend.map(({ from, received, closed }) => ({ label: label(from), values: { received, closed } }))}
        series={[
          { key: 'received', title: t('received'), tone: 'accent' },
          { key: 'closed', title: t('closed'), tone: 'quiet' },
        ]}
      />
      <FactList
        facts={[
          ...(median === undefined
            ? []
            : [[t('answer'), durationText(format, median * daySeconds)] as [string, string]]),
          ...(answered === 0
            ? []
            : [
                [t('onTime'), t('onTimeOf', { count: sum((week) => week.on_time), total: answered })] as [
                  string,
                  string,
                ],
              ]),
          [t('deletions'), deletions],
        ]}
      />
      {deletions > 0 && (
        <Bars
          label={t('deletions')}
          data={trend.map((week) => ({ label: label(week.from), values: { deletions: week.deletions } }))}
          series={[{ key: 'deletions', title: t('deletions'), tone: 'accent' }]}
        />
      )}
    </Card>
  )
}
