'use client'

import { useTranslations } from 'next-intl'
import { useChange } from '#components/frame/asking.ts'
import { touched } from '#components/queue/places.ts'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { type Run, retryErasureAt } from './places.ts'

/** Tries an erasure again that no privacy request asked for; nothing while it goes on. Needs the words `storeProgress`. */
export function RetryErasure({ run }: { run: Pick<Run, 'state' | 'steps' | 'request_id' | 'audit_id' | 'fault'> }) {
  const t = useTranslations('storeProgress')
  const common = useTranslations('common')
  const retry = useChange(retryErasureAt, { touches: touched })
  const auditId = run.audit_id
  const isUnplanned = run.state === 'planning' && run.fault !== null
  const stands = isUnplanned || run.state === 'failed' || run.steps.some(({ state }) => state === 'stuck')
  if (auditId === null || run.request_id !== null || !stands) return null
  return (
    <div className="grid justify-items-start gap-2">
      {isUnplanned && <p className="text-amber">{t('unplanned', { fault: run.fault ?? '' })}</p>}
      {retry.problem && <ProblemAlert problem={retry.problem} />}
      <Button tone="plain" aria-disabled={retry.isPending} onClick={() => retry.begin({ params: { id: auditId } })}>
        {retry.isPending ? common('busy') : t('again')}
      </Button>
    </div>
  )
}
