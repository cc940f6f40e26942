'use client'

import { useTranslations } from 'next-intl'
import { useChange } from '#components/frame/asking.ts'
import { retryAt, touched } from '#components/queue/places.ts'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { useHoldingNames } from './store-progress.tsx'
import type { Step, Steps } from './store-rows.ts'

const faults = ['unavailable', 'internal'] as const

function StuckStep({ step, requestId }: { step: Step; requestId: string | null }) {
  const t = useTranslations('adminRequest.stuck')
  const common = useTranslations('common')
  const names = useHoldingNames()
  const retry = useChange(retryAt, { touches: touched })
  const holder = names.holder(step.holder)
  const fault = faults.find((known) => known === step.fault) ?? 'other'
  return (
    <li className="grid gap-2 py-3">
      <p>
        {t.rich('fault', {
          holder,
          store: names.store(step.store),
          fault: step.fault ?? 'internal',
          attempts: step.attempts,
          code: (text) => <code className="font-mono">{text}</code>,
        })}
      </p>
      <p className="text-quiet">{t(`faults.${fault}`)}</p>
      {retry.problem && <ProblemAlert problem={retry.problem} />}
      {requestId !== null && (
        <Button
          tone="plain"
          size="small"
          className="justify-self-start"
          aria-disabled={retry.isPending}
          aria-label={t('retryNamed', { holder })}
          onClick={() => retry.begin({ params: { id: requestId }, body: { holder: step.holder } })}
        >
          {retry.isPending ? common('busy') : t('retry')}
        </Button>
      )}
    </li>
  )
}

/** Steps that gave up: why, what to do, and the button that tries again, for whom it is given a request. */
export function StuckSteps({ steps, requestId }: { steps: Steps; requestId: string | null }) {
  const t = useTranslations('adminRequest.stuck')
  const stuck = steps.filter(({ state }) => state === 'stuck')
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
