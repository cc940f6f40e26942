'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import type { ProblemDocument } from '#lib/client/request.ts'
import { Alert } from './alert.tsx'

/** A refusal in the reader's words: what happened, what to do, and the request to ask about. */
export function ProblemAlert({ problem, children }: { problem: ProblemDocument; children?: ReactNode }) {
  const t = useTranslations('problems')
  const common = useTranslations('common')
  return (
    <Alert
      tone={problem.status >= 500 || problem.status === 0 ? 'warning' : 'danger'}
      title={t(`${problem.code}.what`)}
      isLive
    >
      <p>{t(`${problem.code}.do`)}</p>
      {problem.instance && (
        <p className="text-sm text-quiet">
          {common('requestId')} <code className="font-mono">{problem.instance}</code>
        </p>
      )}
      {children}
    </Alert>
  )
}
