'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { type DryRun, dryRunAt, type ListedSweep, readSweepAt, sweepAt } from './endpoints.ts'

const every = 1_000

/** A running sweep, or its result. */
function SweepProgress({ begun, expected }: { begun: ListedSweep; expected: number }) {
  const t = useTranslations('retention.sweep')
  const asked = useApiQuery(
    readSweepAt,
    { params: { id: begun.id } },
    { initial: { data: begun }, every: (answer) => ((answer?.data ?? begun).state === 'running' ? every : false) },
  )
  const sweep = asked.data?.data ?? begun
  const count = sweep.deleted.total
  if (asked.problem) return <ProblemAlert problem={asked.problem} />
  if (sweep.state === 'running')
    return (
      <div role="status" className="grid gap-2">
        <p>{t('running', { count })}</p>
        <ProgressBar value={count} max={expected} label={t('progress')} />
      </div>
    )
  return (
    <Alert
      tone={sweep.state === 'interrupted' ? 'warning' : 'done'}
      title={t(sweep.state === 'interrupted' ? 'interrupted' : 'done', { count })}
      isLive
    />
  )
}

/** Starts a sweep after a dry run. `running` is a sweep that is already in progress, regardless of who started it. */
export function SweepNow({ running }: { running: ListedSweep | undefined }) {
  const t = useTranslations('retention.sweep')
  const [run, setRun] = useState<DryRun>()
  const [begun, setBegun] = useState<{ sweep: ListedSweep; expected: number }>()
  const dryRun = useApiMutation(dryRunAt, { isQuiet: true })
  const start = useApiMutation(sweepAt, { touches: ['/v1/retention'] })
  const shown = begun ?? (running && { sweep: running, expected: 0 })
  const count = run?.would_delete.total ?? 0
  return (
    <div className="grid gap-3">
      <div>
        <Button
          tone="plain"
          size="small"
          aria-disabled={dryRun.isPending}
          onClick={() => dryRun.begin({ body: {} }, ({ data }) => setRun(data))}
        >
          {dryRun.isPending ? t('counting') : t('open')}
        </Button>
      </div>
      {dryRun.problem && <ProblemAlert problem={dryRun.problem} />}
      {shown && <SweepProgress key={shown.sweep.id} begun={shown.sweep} expected={shown.expected} />}
      {run && (
        <Confirm
          open
          onOpenChange={() => setRun(undefined)}
          title={t('title')}
          consequences={
            <>
              <p className="font-medium text-ink">{t('text', { count })}</p>
              {count > 0 && <p>{t('noReturn')}</p>}
            </>
          }
          action={t('open')}
          needsApproval
          tone={count > 0 ? 'danger' : 'main'}
          change={start}
          onConfirm={() =>
            start.begin({}, ({ data }) => {
              setBegun({ sweep: data, expected: count })
              setRun(undefined)
            })
          }
        />
      )}
    </div>
  )
}
