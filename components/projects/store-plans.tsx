'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useDataNames } from '#components/stores/data-names.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { isEmptyPlan, type StorePlan } from './plan-rules.ts'
import { usePlanWords } from './plan-words.ts'

/** The plan by store, each as a sentence with its numbers. */
export function StorePlans({ plans }: { plans: readonly StorePlan[] }) {
  const t = useTranslations('projects.plan')
  const format = useFormatter()
  const names = useDataNames()
  const words = usePlanWords()
  const isHeld = plans.some(({ held }) => held > 0)
  const columns: ShownColumn<StorePlan>[] = [
    {
      key: 'store',
      title: t('stores.store'),
      main: true,
      value: ({ store }) => names.place(store),
    },
    {
      key: 'what',
      title: t('stores.what'),
      cell: (plan) =>
        isEmptyPlan(plan) ? (
          <span className="text-quiet">{t('none')}</span>
        ) : (
          <span className="grid gap-0.5">
            {[words.entities(plan), words.rest(plan), plan.isUnanswered ? t('unknown') : undefined].map(
              (said) => said !== undefined && <span key={said}>{said}</span>,
            )}
          </span>
        ),
    },
    {
      key: 'items',
      title: t('stores.items'),
      numeric: true,
      value: ({ goes }) => goes,
      cell: ({ goes }) => format.number(goes),
    },
    ...(isHeld
      ? [
          {
            key: 'held',
            title: t('stores.held'),
            numeric: true,
            cell: ({ held }: StorePlan) => (held === 0 ? '–' : format.number(held)),
          },
        ]
      : []),
  ]
  return (
    <DataTable
      name="deletion-plan-stores"
      label={t('byStore')}
      rows={plans}
      rowKey={({ store }) => store}
      columns={columns}
    />
  )
}
