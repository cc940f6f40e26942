'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useChange } from '#components/frame/asking.ts'
import { retryAt, touched } from '#components/queue/places.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { faultParts } from './fault-rules.ts'
import { decideThreadAt } from './places.ts'
import { useHoldingNames } from './store-progress.tsx'
import type { Step, Steps } from './store-rows.ts'

const faults = ['unavailable', 'internal'] as const

const decisions = {
  delete: { tone: 'danger', open: 'drop', ask: 'dropAsk', text: 'dropText', action: 'dropDo' },
  retain: { tone: 'plain', open: 'keep', ask: 'keepAsk', text: 'keepText', action: 'keepDo' },
} as const

interface DecideThreadProps {
  auditId: string
  thread: string
  decision: keyof typeof decisions
}
/** Deletes or retains a thread that cannot be rewritten, after a confirmation: neither can be undone. */
function DecideThread({ auditId, thread, decision }: DecideThreadProps) {
  const t = useTranslations('adminRequest.stuck')
  const [isOpen, setOpen] = useState(false)
  const decide = useChange(decideThreadAt, { touches: touched })
  const words = decisions[decision]
  const params = { id: auditId, threadId: thread }
  return (
    <>
      <Button tone={words.tone} size="small" onClick={() => setOpen(true)}>
        {t(words.open)}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={<span className="[overflow-wrap:anywhere]">{t(words.ask, { thread })}</span>}
        consequences={<p>{t(words.text)}</p>}
        action={t(words.action)}
        change={decide}
        onConfirm={() => decide.begin({ params, body: { decision } }, () => setOpen(false))}
      />
    </>
  )
}

interface StuckStepProps {
  step: Step
  requestId: string | null
  auditId: string | null
}
function StuckStep({ step, requestId, auditId }: StuckStepProps) {
  const t = useTranslations('adminRequest.stuck')
  const common = useTranslations('common')
  const names = useHoldingNames()
  const retry = useChange(retryAt, { touches: touched })
  const holder = names.holder(step.holder)
  const reasons = useTranslations('storeProgress.refusals')
  const { code, thread, refusal } = faultParts(step.fault)
  const fault = faults.find((known) => known === code) ?? 'other'
  return (
    <li className="grid gap-2 py-3">
      <p>
        {t.rich('fault', {
          holder,
          store: names.store(step.store),
          fault: code,
          attempts: step.attempts,
          code: (text) => <code className="font-mono">{text}</code>,
        })}
      </p>
      <p className="text-quiet [overflow-wrap:anywhere]">
        {thread === null
          ? refusal === null
            ? t(`faults.${fault}`)
            : reasons(refusal)
          : t.rich('thread', { thread, code: (text) => <code className="font-mono">{text}</code> })}
      </p>
      {retry.problem && <ProblemAlert problem={retry.problem} />}
      <p className="flex flex-wrap gap-2">
        {requestId !== null && (
          <Button
            tone="plain"
            size="small"
            aria-disabled={retry.isPending}
            aria-label={t('retryNamed', { holder })}
            onClick={() => retry.begin({ params: { id: requestId }, body: { holder: step.holder } })}
          >
            {retry.isPending ? common('busy') : t('retry')}
          </Button>
        )}
        {auditId !== null && thread !== null && (
          <>
            <DecideThread auditId={auditId} thread={thread} decision="retain" />
            <DecideThread auditId={auditId} thread={thread} decision="delete" />
          </>
        )}
      </p>
    </li>
  )
}

interface StuckStepsProps {
  steps: Steps
  /** The request that they are tried again by, for who may. */
  requestId: string | null
  /** The erasure's entry in the deletion log, for who may let a thread go whole. */
  auditId?: string | null
}
/** Steps that gave up: why, what to do, and the buttons for whom they are given something to act on. */
export function StuckSteps({ steps, requestId, auditId = null }: StuckStepsProps) {
  const t = useTranslations('adminRequest.stuck')
  const stuck = steps.filter(({ state }) => state === 'stuck')
  if (stuck.length === 0) return null
  return (
    <section aria-label={t('title')} className="grid gap-2 rounded-box border border-red/40 bg-red-wash px-4 py-3">
      <p className="font-medium">{t('title')}</p>
      <p>{t('lead', { attempts: Math.max(...stuck.map(({ attempts }) => attempts)) })}</p>
      <ul className="divide-y divide-line">
        {stuck.map((step) => (
          <StuckStep key={step.holder} step={step} requestId={requestId} auditId={auditId} />
        ))}
      </ul>
    </section>
  )
}
