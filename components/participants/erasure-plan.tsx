'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { useDataNames } from '#components/stores/data-names.ts'
import { Alert } from '#components/ui/alert.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { isPseudonymized } from '#lib/domains/erasure/rules.ts'
import { planAt } from './endpoints.ts'

/** The dry run of a participant's erasure: what is erased, by kind and store, and what a legal hold retains. */
export function ParticipantErasurePlan({ projectId, participantId }: { projectId: string; participantId: string }) {
  const t = useTranslations('participants.plan')
  const format = useFormatter()
  const names = useDataNames()
  const { data, problem } = useApiQuery(planAt, { params: { projectId, participantId } })
  if (problem) return <ProblemAlert problem={problem} />
  if (!data) return <Skeleton className="h-40" />
  const rows = data.data.holdings
    .filter(({ holder }) => !isPseudonymized(holder))
    .map(({ held, ...holding }) => ({ ...holding, held: held.reduce((sum, { count }) => sum + count, 0) }))
    .filter(({ count, held }) => count > 0 || held > 0)
    .toSorted((one, other) => other.count - one.count)
  const total = rows.reduce((sum, { count }) => sum + count, 0)
  const held = rows.reduce((sum, row) => sum + row.held, 0)
  return (
    <div className="grid gap-3">
      <p className="font-medium">{t('title', { total })}</p>
      {rows.length > 0 && (
        <DataTable
          label={t('table')}
          rows={rows}
          rowKey={({ holder }) => holder}
          columns={[
            { key: 'what', title: t('what'), main: true, cell: ({ holder }) => names.erasedRecords(holder) },
            { key: 'store', title: t('store'), cell: ({ store }) => names.place(store) },
            { key: 'count', title: t('count'), numeric: true, cell: ({ count }) => format.number(count) },
          ]}
        />
      )}
      {held > 0 && (
        <Alert tone="warning" title={t('held', { count: held })}>
          <p>{t('heldText')}</p>
        </Alert>
      )}
      <p className="text-sm text-quiet">{t('note')}</p>
    </div>
  )
}
