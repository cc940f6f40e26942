'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import { type PeriodInForce, type RetainedVisibility, retainedVisibilities } from '#lib/domains/retention/rules.ts'
import { type AdminNames, nameIn } from './admin-names.ts'
import type { DryRun } from './endpoints.ts'
import { usePeriodWords } from './period-words.ts'

const variables = {
  network: 'KP_RETENTION_NETWORK_DAYS',
  org: 'KP_RETENTION_ORG_DAYS',
  private: 'KP_RETENTION_PRIVATE_DAYS',
} as const

/** The current periods and who set them; with a dry run, also what they will delete soon. */
export function PeriodsTable({
  policy,
  run,
  names,
}: {
  policy: Record<RetainedVisibility, PeriodInForce>
  run: DryRun | undefined
  names: AdminNames
}) {
  const t = useTranslations('retention')
  const format = useFormatter()
  const words = usePeriodWords()
  const soon = run?.upcoming.at(-1)
  const nameOf = (id: string) => nameIn(names, id)
  const columns: ShownColumn<RetainedVisibility>[] = [
    { key: 'what', title: t('force.what'), main: true, cell: (visibility) => t(`visibility.${visibility}`) },
    { key: 'kept', title: t('force.kept'), cell: (visibility) => words(policy[visibility].days) },
    {
      key: 'set',
      title: t('force.setBy'),
      cell: (visibility) => {
        const { source, set_by, set_at } = policy[visibility]
        if (source === 'environment' || set_by === undefined || set_at === undefined)
          return (
            <span className="text-quiet" title={variables[visibility]}>
              {t('force.environment')}
            </span>
          )
        return t.rich('force.override', {
          who: nameOf(set_by),
          time: () => <Time at={set_at} show="relative" />,
        })
      },
    },
    ...(run && soon
      ? [
          {
            key: 'due',
            title: t('force.due'),
            numeric: true,
            cell: (visibility: RetainedVisibility) => format.number(run.would_delete[visibility]),
          },
          {
            key: 'soon',
            title: t('force.soon'),
            numeric: true,
            cell: (visibility: RetainedVisibility) => format.number(soon[visibility]),
          },
        ]
      : []),
  ]
  return (
    <DataTable
      label={t('force.title')}
      columns={columns}
      rows={retainedVisibilities}
      rowKey={(visibility) => visibility}
    />
  )
}
