'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { requestPaths } from '#components/queue/endpoints.ts'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { type Run, retryErasureAt } from './endpoints.ts'
import { faultParts, isStuck } from './fault-rules.ts'

interface RetryErasureProps {
  run: Pick<Run, 'state' | 'steps' | 'request_id' | 'audit_id' | 'fault' | 'waits_for'>
}
/**
 * Retries an erasure without a privacy request if it is stuck, has failed or waits for a store; otherwise renders nothing. Needs the
 * messages `storeProgress`.
 */
export function RetryErasure({ run }: RetryErasureProps) {
  const t = useTranslations('storeProgress')
  const common = useTranslations('common')
  const retry = useApiMutation(retryErasureAt, { touches: requestPaths })
  const auditId = run.audit_id
  const isWaiting = run.state !== 'done' && run.waits_for.length > 0
  const reasons = useTranslations('storeProgress.refusals')
  const { refusal } = faultParts(run.fault)
  const isUnplanned = run.state === 'planning' && run.fault !== null && run.fault !== 'unavailable'
  // Between the last poll and the click it may have continued by itself; the refetched run shows that.
  const problem = retry.problem?.code === 'not_stuck' ? undefined : retry.problem
  const hasFailed = isUnplanned || refusal !== null || run.state === 'failed' || run.steps.some(isStuck)
  if (auditId === null || run.request_id !== null || !(hasFailed || isWaiting)) return null
  return (
    <div className="grid justify-items-start gap-2">
      {refusal !== null && <p className="text-amber">{reasons(refusal)}</p>}
      {isUnplanned && refusal === null && <p className="text-amber">{t('unplanned', { fault: run.fault ?? '' })}</p>}
      {problem && <ProblemAlert problem={problem} />}
      <Button tone="plain" aria-disabled={retry.isPending} onClick={() => retry.begin({ params: { id: auditId } })}>
        {retry.isPending ? common('busy') : t(hasFailed ? 'again' : 'retryNow')}
      </Button>
    </div>
  )
}
