'use client'

import { useTranslations } from 'next-intl'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'

const rows = [
  'audit',
  'proof',
  'requests',
  'suppression',
  'refusals',
  'tokens',
  'rejections',
  'exports',
  'modelLog',
  'agentDocuments',
  'grimoire',
  'heartbeats',
  'shares',
  'snapshots',
  'insurances',
  'pseudonyms',
  'letters',
  'idempotency',
  'backups',
] as const
type Row = (typeof rows)[number]
const byEnvironment: readonly Row[] = ['requests', 'backups']
const byOwners: readonly Row[] = ['agentDocuments', 'grimoire']
const setBy = (row: Row) => (byEnvironment.includes(row) ? 'environment' : byOwners.includes(row) ? 'owner' : 'fixed')

/** Read-only retention periods of everything except units and skills. `years`: requests; `days`: backups, -1 if not stated. */
export function OtherPeriods({ years, days }: { years: number; days: number }) {
  const t = useTranslations('retention.rest')
  const columns: ShownColumn<Row>[] = [
    { key: 'what', title: t('what'), main: true, cell: (row) => t(`rows.${row}.what`) },
    { key: 'kept', title: t('kept'), cell: (row) => t(`rows.${row}.kept`, { years, days }) },
    { key: 'set', title: t('set'), cell: (row) => t(`sets.${setBy(row)}`) },
  ]
  return <DataTable label={t('title')} columns={columns} rows={rows} rowKey={(row) => row} />
}
