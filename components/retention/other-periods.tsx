'use client'

import { useTranslations } from 'next-intl'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'

export interface OtherPeriod {
  key: string
  what: string
  kept: string
  set: 'fixed' | 'environment' | 'owner'
}

/** Read-only retention periods of other data than units and skills. */
export function OtherPeriods({ rows }: { rows: readonly OtherPeriod[] }) {
  const t = useTranslations('retention.rest')
  const columns: ShownColumn<OtherPeriod>[] = [
    { key: 'what', title: t('what'), main: true, cell: ({ what }) => what },
    { key: 'kept', title: t('kept'), phone: 'plain', cell: ({ kept }) => kept },
    { key: 'set', title: t('set'), phone: 'plain', cell: ({ set }) => t(`sets.${set}`) },
  ]
  return <DataTable label={t('title')} columns={columns} rows={rows} rowKey={({ key }) => key} />
}
