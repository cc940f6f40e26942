'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import { retainedVisibilities } from '#lib/domains/retention/rules.ts'
import { DueRecords } from './due-records.tsx'
import type { DryRun } from './endpoints.ts'

type Due = DryRun['would_delete'] & { when: string }

/** The records that sweeps would delete, by visibility and time. */
export function DryRunTable({ run }: { run: DryRun }) {
  const t = useTranslations('retention')
  const format = useFormatter()
  const rows: Due[] = [
    { when: t('edit.now'), ...run.would_delete },
    ...run.upcoming.map(({ within_days, ...due }) => ({ when: t('edit.within', { days: within_days }), ...due })),
  ]
  const columns: ShownColumn<Due>[] = [
    { key: 'when', title: t('edit.when'), main: true, cell: ({ when }) => when },
    ...retainedVisibilities.map((visibility) => ({
      key: visibility,
      title: t(`visibility.${visibility}`),
      numeric: true,
      cell: (due: Due) => format.number(due[visibility]),
    })),
    { key: 'total', title: t('edit.total'), numeric: true, cell: ({ total }) => <b>{format.number(total)}</b> },
    { key: 'held', title: t('edit.held'), numeric: true, cell: ({ held }) => format.number(held) },
  ]
  return (
    <div className="grid gap-4" role="status" data-dry-run={run.would_delete.total}>
      <p className="text-quiet">{t.rich('edit.result', { time: () => <Time at={run.at} /> })}</p>
      <DataTable label={t('edit.total')} columns={columns} rows={rows} rowKey={({ when }) => when} />
      <DueRecords records={run.records} />
    </div>
  )
}
