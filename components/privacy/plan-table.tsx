'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { DataTable } from '#components/ui/table.tsx'

export interface PlanRow {
  key: string
  what: string
  count: number
  /** Records that a legal hold retains for now. */
  held: number
}

/** Records to delete by category, with a column for legal holds if there are any. */
export function PlanTable({ rows }: { rows: readonly PlanRow[] }) {
  const t = useTranslations('deletion.what')
  const format = useFormatter()
  const isHeld = rows.some(({ held }) => held > 0)
  return (
    <DataTable
      label={t('table', { count: rows.length })}
      rows={rows}
      rowKey={({ key }) => key}
      columns={[
        { key: 'what', title: t('columns.what'), main: true, cell: ({ what }) => what },
        { key: 'count', title: t('columns.count'), numeric: true, cell: ({ count }) => format.number(count) },
        ...(isHeld
          ? [
              {
                key: 'held',
                title: t('columns.held'),
                numeric: true,
                cell: ({ held }: PlanRow) => (held > 0 ? format.number(held) : '–'),
              },
            ]
          : []),
      ]}
    />
  )
}
