'use client'

import { useTranslations } from 'next-intl'
import type { ProblemDocument } from '#lib/client/request.ts'
import { Alert } from './alert.tsx'
import { Button } from './button.tsx'
import { useSignInHref } from './sign-in-href.ts'
import { PlainLink } from './text-link.tsx'

/** The problem of a query, which can be asked again. */
export interface QueryProblem extends ProblemDocument {
  retry?: { again: () => void; isAsking: boolean }
}

/**
 * A refusal in the reader's language: what happened, what to do, and the request id for support. Offers to ask a failed query again.
 * `advice` replaces the general sentence on what to do where the page knows more.
 */
export function ProblemAlert({ problem, advice }: { problem: QueryProblem; advice?: string }) {
  const t = useTranslations('problems')
  const common = useTranslations('common')
  const signIn = useSignInHref()
  if (problem.proposal_id !== undefined)
    return (
      <Alert tone="done" title={common('approval.asked')} isLive>
        <p>{common('approval.askedText')}</p>
        <p>
          <PlainLink href="/admin/approvals">{common('approval.open')}</PlainLink>
        </p>
      </Alert>
    )
  // A newer server may return a code that this page does not know.
  const code = t.has(`${problem.code}.what`) ? problem.code : 'unknown'
  const isOurs = problem.status > 0 && problem.status < 500
  return (
    <Alert tone={isOurs ? 'danger' : 'warning'} title={t(`${code}.what`)} isLive>
      <p>{advice ?? t(`${code}.do`)}</p>
      {code === 'sign_in_needed' && (
        // In a new tab, so that typed text on this page survives.
        <p>
          <PlainLink href={signIn} target="_blank" rel="noopener">
            {common('signInBeside')}
          </PlainLink>
        </p>
      )}
      {problem.instance && (
        <p className="text-sm text-quiet">
          {common('requestId')} <code className="font-mono">{problem.instance}</code>
        </p>
      )}
      {problem.retry && !isOurs && (
        <p>
          <Button tone="plain" size="small" aria-disabled={problem.retry.isAsking} onClick={problem.retry.again}>
            {common(problem.retry.isAsking ? 'busy' : 'again')}
          </Button>
        </p>
      )}
    </Alert>
  )
}
