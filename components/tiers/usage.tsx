'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { Bars } from '#components/ui/chart.tsx'
import { useChartLabel } from '#components/ui/chart-label.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import type { AgentUse } from './endpoints.ts'

type Point = AgentUse['use']['points'][number]

/** Requests of an agent over time, as a chart and in numbers. */
export function Usage({ use }: { use: AgentUse['use'] }) {
  const t = useTranslations('tiers.agent')
  const format = useFormatter()
  const { step, points } = use
  const labelOf = useChartLabel(step)
  const used = points.filter(({ reads, writes, refused }) => reads + writes + refused > 0).toReversed()
  const columns: ShownColumn<Point>[] = [
    {
      key: 'at',
      title: t('at', { step }),
      main: true,
      cell: ({ at }) => (step === 'day' ? at.slice(0, 10) : <Time at={at} />),
    },
    { key: 'reads', title: t('reads'), numeric: true, cell: ({ reads }) => format.number(reads) },
    { key: 'writes', title: t('writes'), numeric: true, cell: ({ writes }) => format.number(writes) },
    { key: 'refused', title: t('refused'), numeric: true, cell: ({ refused }) => format.number(refused) },
  ]
  if (used.length === 0) return <p className="text-quiet">{t('unused')}</p>
  return (
    <div className="grid gap-4">
      <Bars
        label={t('chart')}
        unit={t('unit', { step })}
        data={points.map(({ at, reads, writes, refused }) => ({
          label: labelOf(at),
          values: { reads, writes, refused },
        }))}
        series={[
          { key: 'reads', title: t('reads'), tone: 'accent' },
          { key: 'writes', title: t('writes'), tone: 'quiet' },
          { key: 'refused', title: t('refused'), tone: 'red' },
        ]}
      />
      <details>
        <summary className="cursor-pointer py-0.5 text-accent">{t('inNumbers')}</summary>
        <div className="mt-3">
          <DataTable label={t('inNumbers')} columns={columns} rows={used} rowKey={({ at }) => at} />
        </div>
      </details>
    </div>
  )
}
