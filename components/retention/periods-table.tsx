'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import { type PeriodInForce, type RetainedVisibility, retainedVisibilities } from '#lib/domains/retention/rules.ts'
import { type AdminNames, nameIn } from './admin-names.ts'
import { type DryRun, editRetentionAt } from './endpoints.ts'
import { usePeriodWords } from './period-words.ts'
import { periodChangeOf } from './typed-periods.ts'

const variables = {
  network: 'KP_RETENTION_NETWORK_DAYS',
  org: 'KP_RETENTION_ORG_DAYS',
  private: 'KP_RETENTION_PRIVATE_DAYS',
} as const

/** A shorter period that waits, which every admin can cancel until it is in force. */
function Waiting({
  visibility,
  period: { days, next },
  canCancel,
}: {
  visibility: RetainedVisibility
  period: PeriodInForce
  canCancel: boolean
}) {
  const t = useTranslations('retention.force')
  const words = usePeriodWords()
  const edit = useApiMutation(editRetentionAt, { touches: ['/v1/retention'] })
  if (!next) return null
  const present = { network: days, org: days, private: days }
  const cancel = () => edit.begin({ body: periodChangeOf({ ...present, [visibility]: next.days }, present) })
  return (
    <span className="grid justify-items-start gap-1 text-sm text-amber">
      <span>{t.rich('next', { period: words(next.days), time: () => <Time at={next.at} /> })}</span>
      {canCancel && (
        <Button tone="plain" size="small" onClick={cancel} aria-disabled={edit.isPending}>
          {t('cancel')}
        </Button>
      )}
      {edit.problem && <ProblemAlert problem={edit.problem} />}
    </span>
  )
}

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
    {
      key: 'kept',
      title: t('force.kept'),
      cell: (visibility) => (
        <>
          {words(policy[visibility].days)}
          <Waiting visibility={visibility} period={policy[visibility]} canCancel={run !== undefined} />
        </>
      ),
    },
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
