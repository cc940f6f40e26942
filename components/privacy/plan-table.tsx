'use client'

import { useTranslations } from 'next-intl'
import { DataTable } from '#components/ui/table.tsx'

export interface PlanRow {
  key: string
  what: string
  count: string
  /** Empty if no legal hold retains anything. */
  held: string
}

/** Records to erase by kind, with a column for legal holds if there are any. */
export function PlanTable({ rows }: { rows: readonly PlanRow[] }) {
  const t = useTranslations('deletion.what')
  const isHeld = rows.some(({ held }) => held !== '')
  return (
    <DataTable
      label={t('table')}
      rows={rows}
      rowKey={({ key }) => key}
      columns={[
        { key: 'what', title: t('columns.what'), main: true, cell: ({ what }) => what },
        { key: 'count', title: t('columns.count'), numeric: true, cell: ({ count }) => count },
        ...(isHeld
          ? [{ key: 'held', title: t('columns.held'), numeric: true, cell: ({ held }: PlanRow) => held || '–' }]
          : []),
      ]}
    />
  )
}
