'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { requestPaths, retryAt } from '#components/queue/endpoints.ts'
import { useDataNames } from '#components/stores/data-names.ts'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { faultParts, isStuck } from './fault-rules.ts'
import type { ShownStep, ShownSteps } from './store-rows.ts'

interface StuckStepProps {
  step: ShownStep
  requestId: string | null
}
function StuckStep({ step, requestId }: StuckStepProps) {
  const t = useTranslations('adminRequest.stuck')
  const common = useTranslations('common')
  const progress = useTranslations('storeProgress')
  const names = useDataNames()
  const retry = useApiMutation(retryAt, { touches: requestPaths })
  const holder = names.erasedRecords(step.holder)
  const reasons = useTranslations('storeProgress.refusals')
  const { code, refusal } = faultParts(step.fault)
  const fault = code === 'unavailable' ? code : 'other'
  return (
    <li className="grid gap-2 py-3">
      <p>
        {t.rich('fault', {
          holder,
          store: names.place(step.store),
          fault: code,
          code: (text) => <code className="font-mono">{text}</code>,
        })}
      </p>
      <p className="text-quiet">{refusal === null ? t(`faults.${fault}`) : reasons(refusal)}</p>
      {retry.problem && <ProblemAlert problem={retry.problem} />}
      {requestId !== null && (
        <p>
          <Button
            tone="plain"
            size="small"
            aria-disabled={retry.isPending}
            aria-label={t('retryNamed', { holder })}
            onClick={() => retry.begin({ params: { id: requestId }, body: { holder: step.holder } })}
          >
            {retry.isPending ? common('busy') : progress('again')}
          </Button>
        </p>
      )}
    </li>
  )
}

interface StuckStepsProps {
  steps: ShownSteps
  /** The request through which they can be retried, if the reader may. */
  requestId: string | null
}
/** Steps that gave up: the reason, what to do, and buttons for readers who may act. */
export function StuckSteps({ steps, requestId }: StuckStepsProps) {
  const t = useTranslations('adminRequest.stuck')
  const stuck = steps.filter(isStuck)
  if (stuck.length === 0) return null
  return (
    <section aria-label={t('title')} className="grid gap-2 rounded-box border border-red/40 bg-red-wash px-4 py-3">
      <p className="font-medium">{t('title')}</p>
      <p>{t('lead', { attempts: Math.max(...stuck.map(({ attempts }) => attempts)) })}</p>
      <ul className="divide-y divide-line">
        {stuck.map((step) => (
          <StuckStep key={step.holder} step={step} requestId={requestId} />
        ))}
      </ul>
    </section>
  )
}
