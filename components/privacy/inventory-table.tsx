'use client'

import { useTranslations } from 'next-intl'
import { DataTable } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'

export interface InventoryRow {
  key: string
  what: string
  store: string
  records: string
  since: string | null
  until: string | null
  term: string
  why: string
  ground: string
}

/** The inventory of personal data. The server chose the words. */
export function InventoryTable({ label, rows }: { label: string; rows: readonly InventoryRow[] }) {
  const t = useTranslations('inventory')
  return (
    <DataTable
      label={label}
      rows={rows}
      rowKey={({ key }) => key}
      columns={[
        { key: 'what', title: t('columns.what'), main: true, cell: ({ what }) => what },
        {
          key: 'store',
          title: t('columns.store'),
          cell: ({ store }) => store,
        },
        { key: 'records', title: t('columns.records'), numeric: true, cell: ({ records }) => records },
        {
          key: 'since',
          title: t('columns.since'),
          cell: ({ since }) => (since === null ? <span className="text-quiet">–</span> : <Time at={since} isDay />),
        },
        {
          key: 'until',
          title: t('columns.until'),
          cell: ({ term, until }) => (
            <>
              {term}
              {until !== null && (
                <span className="block text-quiet">{t.rich('last', { time: () => <Time at={until} isDay /> })}</span>
              )}
            </>
          ),
        },
        {
          key: 'why',
          title: t('columns.why'),
          cell: ({ why, ground }) => (
            <>
              {why}
              <span className="block text-quiet">{ground}</span>
            </>
          ),
        },
      ]}
    />
  )
}
