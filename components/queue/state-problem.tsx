'use client'

import { useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { ProblemDocument } from '#lib/client/request.ts'
import type { QueueAct } from './acts.ts'
import type { AdminRequestDetail } from './endpoints.ts'
import { useRequestWords } from './request-words.tsx'

interface StateProblemProps {
  problem: ProblemDocument | undefined
  act: QueueAct
  /** The current state, refetched after the refusal. */
  request: Pick<AdminRequestDetail, 'state'>
}
/** Explains a failed action. If the state has changed meanwhile: the current state, and why the action does not apply to it. */
export function StateProblem({ problem, act, request }: StateProblemProps) {
  const t = useTranslations('adminRequest.wrongState')
  const queue = useTranslations('queue.whyNot')
  const words = useRequestWords()
  if (!problem) return null
  if (problem.code !== 'wrong_state') return <ProblemAlert problem={problem} />
  return (
    <Alert
      tone="danger"
      isLive
      title={t('title', { state: words.state(request), why: act === 'assign' ? queue('assign') : queue(act) })}
    >
      <p>{t('text')}</p>
    </Alert>
  )
}
