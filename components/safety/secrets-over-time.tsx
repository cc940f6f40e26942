'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { Bars } from '#components/ui/chart.tsx'
import { useChartLabel } from '#components/ui/chart-label.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import type { RejectionSummary } from './endpoints.ts'

/** How often the scanner rejected a contribution because of a secret, over time. */
export function SecretsOverTime({ seen: { step, points } }: { seen: Pick<RejectionSummary, 'step' | 'points'> }) {
  const t = useTranslations('safety.scanner.over')
  const kinds = useTranslations('safety.rejections.stages')
  const unit = useTranslations('safety.rejections')
  const format = useFormatter()
  const labelOf = useChartLabel(step)
  const counts = points.map(({ at, by_stage }) => ({ at, secret: by_stage.secret ?? 0 }))
  const some = counts.filter(({ secret }) => secret > 0)
  if (some.length === 0)
    return (
      <EmptyState title={t('noneTitle')}>
        <p>{t('none')}</p>
      </EmptyState>
    )
  const columns: ShownColumn<(typeof counts)[number]>[] = [
    {
      key: 'at',
      title: t('at', { step }),
      main: true,
      cell: ({ at }) => (step === 'day' ? at.slice(0, 10) : <Time at={at} />),
    },
    { key: 'count', title: t('count'), numeric: true, cell: ({ secret }) => format.number(secret) },
  ]
  return (
    <div className="grid gap-5">
      <Bars
        label={t('chart')}
        unit={unit('unit', { step })}
        data={counts.map(({ at, secret }) => ({ label: labelOf(at), values: { secret } }))}
        series={[{ key: 'secret', title: kinds('secret'), tone: 'red' }]}
      />
      <DataTable label={t('title')} columns={columns} rows={some.toReversed()} rowKey={({ at }) => at} />
    </div>
  )
}
