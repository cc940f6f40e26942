import { useFormatter, useTranslations } from 'next-intl'
import { ButtonLink, PlainButtonLink } from '#components/ui/button.tsx'
import { Bars } from '#components/ui/chart.tsx'
import { durationText } from '#components/ui/duration.ts'
import { FactList } from '#components/ui/facts.tsx'
import { Card, Page } from '#components/ui/page.tsx'
import { StatTiles } from '#components/ui/stat-tiles.tsx'
import type { MonthlyReport as Report } from '#lib/domains/console/report-contract.ts'
import { monthBeside } from '#lib/domains/console/rules.ts'
import { requestKinds } from '#lib/domains/privacy-requests/rules.ts'

const daySeconds = 86_400

function Kinds({ kinds }: { kinds: Report['requests']['kinds'] }) {
  const t = useTranslations('report.kinds')
  const names = useTranslations('requestNames.kinds')
  const format = useFormatter()
  const nameOf = (kind: string): string => {
    const known = requestKinds.find((one) => one === kind)
    return known ? names(known) : kind
  }
  const numbers = ['received', 'done', 'refused'] as const
  return (
    <table className="w-full">
      <thead>
        <tr className="border-b border-line text-left text-sm text-quiet">
          <th scope="col" className="py-1 font-normal hyphens-auto wrap-anywhere">
            {t('kind')}
          </th>
          {numbers.map((name) => (
            <th key={name} scope="col" className="py-1 pl-3 text-right font-normal hyphens-auto wrap-anywhere">
              {t(name)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {kinds.map((kind) => (
          <tr key={kind.kind} className="border-b border-line last:border-0">
            <th scope="row" className="py-1.5 text-left font-normal hyphens-auto wrap-anywhere">
              {nameOf(kind.kind)}
            </th>
            {numbers.map((name) => (
              <td key={name} className="py-1.5 text-right tabular-nums">
                {format.number(kind[name])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** What happened in a month, in numbers, for the data protection officer. */
export function MonthlyReport({ report }: { report: Report }) {
  const t = useTranslations('report')
  const format = useFormatter()
  const { requests, verified, holds, deletions, month } = report
  const first = new Date(report.from)
  const next = monthBeside(month, 1)
  const isComplete = report.until === `${next}-01T00:00:00.000Z`
  const name = format.dateTime(first, { month: 'long', year: 'numeric', timeZone: 'UTC' })
  const days = (value: number | null) => (value === null ? t('tiles.none') : durationText(format, value * daySeconds))
  const file = (format: 'csv' | 'pdf') => `/api/admin/report/export?month=${month}&format=${format}`
  const verifiedNames = [
    'receipts',
    'failed',
    'late_writes',
    'readings',
    'attestations',
    'places_erased',
    'places_left',
  ] as const
  return (
    <Page
      width="wide"
      title={t('name')}
      summary={isComplete ? name : t('unfinished', { month: name })}
      lead={<p>{t('lead')}</p>}
      actions={
        <>
          <ButtonLink href={`/admin/report?month=${monthBeside(month, -1)}`} tone="plain">
            {t('previous')}
          </ButtonLink>
          {isComplete && (
            <ButtonLink href={`/admin/report?month=${next}`} tone="plain">
              {t('next')}
            </ButtonLink>
          )}
          <PlainButtonLink tone="plain" href={file('csv')}>
            {t('csv')}
          </PlainButtonLink>
          <PlainButtonLink tone="plain" href={file('pdf')}>
            {t('pdf')}
          </PlainButtonLink>
        </>
      }
    >
      <StatTiles
        tiles={[
          { label: t('tiles.received'), value: format.number(requests.received) },
          { label: t('tiles.answered'), value: format.number(requests.answered) },
          {
            label: t('tiles.onTime'),
            value:
              requests.answered === 0
                ? t('tiles.none')
                : t('tiles.onTimeOf', { count: requests.on_time, total: requests.answered }),
            tone: requests.on_time < requests.answered ? 'warning' : 'neutral',
          },
          { label: t('tiles.median'), value: days(requests.median_days), hint: t('tiles.staffed') },
        ]}
      />
      <div className="grid gap-4 lg:grid-cols-2">
        <Card title={t('kinds.title')}>
          <Kinds kinds={requests.kinds} />
        </Card>
        <Card title={t('deletions.title')}>
          <Bars
            label={t('deletions.title')}
            data={deletions.map(({ from, count }) => ({
              label: format.dateTime(new Date(from), { day: 'numeric', month: 'short', timeZone: 'UTC' }),
              values: { count },
            }))}
            series={[{ key: 'count', title: t('deletions.count'), tone: 'accent' }]}
          />
        </Card>
        <Card title={t('requests.title')}>
          <FactList
            facts={[
              [t('requests.open'), format.number(requests.open)],
              [t('requests.late'), format.number(requests.late)],
              [t('requests.refused'), format.number(requests.refused)],
              [t('requests.cancelled'), format.number(requests.closed - requests.answered)],
              [t('requests.failed'), format.number(requests.failed)],
              [t('requests.longest'), days(requests.longest_days)],
            ]}
          />
        </Card>
        <Card title={t('verified.title')}>
          <FactList facts={verifiedNames.map((key) => [t(`verified.${key}`), format.number(verified[key])] as const)} />
        </Card>
        <Card title={t('holds.title')}>
          <FactList
            facts={[
              [t('holds.set'), format.number(holds.set)],
              [t('holds.ended'), format.number(holds.ended)],
              [t('holds.in_force'), format.number(holds.in_force)],
            ]}
          />
        </Card>
      </div>
    </Page>
  )
}
