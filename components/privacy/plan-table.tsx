'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { DataTable } from '#components/ui/table.tsx'

export interface PlanRow {
  key: string
  what: string
  deleted: number
  changed: number
  /** Records that a legal hold retains for now. */
  held: number
}

/** Records by category: deleted, and if there are any, pseudonymized and under legal hold. */
export function PlanTable({ rows }: { rows: readonly PlanRow[] }) {
  const t = useTranslations('deletion.what')
  const format = useFormatter()
  const shown = (['deleted', 'changed', 'held'] as const).filter(
    (key) => key === 'deleted' || rows.some((row) => row[key] > 0),
  )
  return (
    <DataTable
      label={t('table', { count: rows.length })}
      rows={rows}
      rowKey={({ key }) => key}
      columns={[
        { key: 'what', title: t('columns.what'), main: true, cell: ({ what }) => what },
        ...shown.map((key) => ({
          key,
          title: t(`columns.${key}`),
          numeric: true,
          cell: (row: PlanRow) => (row[key] > 0 ? format.number(row[key]) : '–'),
        })),
      ]}
    />
  )
}
