'use client'

import { useTranslations } from 'next-intl'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { DryRun } from './endpoints.ts'

type DueRecord = DryRun['records'][number]

/** The units and skills that expire within 30 days, soonest first, without their content. */
export function DueRecords({ records }: { records: readonly DueRecord[] }) {
  const t = useTranslations('retention')
  if (records.length === 0) return null
  const columns: ShownColumn<DueRecord>[] = [
    {
      key: 'id',
      title: t('edit.id'),
      main: true,
      cell: ({ id, kind, visibility }) =>
        kind === 'unit' && visibility !== 'private' ? (
          <TextLink href={`/knowledge/${id}`} className="font-mono text-[0.8125rem]">
            {id}
          </TextLink>
        ) : (
          <code className="font-mono text-[0.8125rem]">{id}</code>
        ),
    },
    { key: 'kind', title: t('edit.kind'), cell: ({ kind }) => t(`edit.kinds.${kind}`) },
    { key: 'shared', title: t('edit.shared'), cell: ({ visibility }) => t(`visibility.${visibility}`) },
    {
      key: 'agent',
      title: t('edit.agent'),
      cell: ({ agent_id: id }) => <TextLink href={`/admin/tokens/${encodeURIComponent(id)}`}>{id}</TextLink>,
    },
    { key: 'stored', title: t('edit.stored'), cell: ({ stored_at }) => <Time at={stored_at} isDay /> },
    { key: 'expires', title: t('edit.expires'), cell: ({ expires_at }) => <Time at={expires_at} isDay show="both" /> },
  ]
  return (
    <section className="grid gap-2">
      <h3 className="font-medium">{t('edit.records')}</h3>
      <DataTable label={t('edit.records')} columns={columns} rows={records} rowKey={({ id }) => id} />
      {records.length === 100 && (
        <p className="text-sm text-quiet">{t('edit.firstRecords', { count: records.length })}</p>
      )}
    </section>
  )
}
