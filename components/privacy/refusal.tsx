'use client'

import { useFormatter, useNow, useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { spacedDigits } from '#components/ui/punctuation.ts'
import { RequestRefused } from '#lib/client/request.ts'

/** Problem codes with a specific meaning on these pages. All others use the general words. */
const own = {
  myPrivacy: ['fenced', 'conflict', 'unavailable', 'expired'],
  deletion: ['conflict', 'fenced', 'unavailable', 'not_found'],
} as const
type Own<W extends keyof typeof own> = (typeof own)[W][number]

function OwnWords({ title, text, requestId }: { title: string; text: string; requestId: string | undefined }) {
  const t = useTranslations('common')
  return (
    <Alert tone="danger" title={title} isLive>
      <p>{text}</p>
      {requestId !== undefined && (
        <p className="text-sm text-quiet">
          {t('requestId')} <code className="font-mono">{requestId}</code>
        </p>
      )}
    </Alert>
  )
}

interface RefusalProps {
  /** The error that a mutation threw. */
  error: unknown
  words: keyof typeof own
  /** The only meaning that a conflict can have for this operation. */
  conflict?: 'ofAll' | 'lastAdmin'
}

/** Explains a refusal: what is unaffected, and when to try again. Renders nothing without a refusal. */
export function RefusalNote({ error, words, conflict }: RefusalProps) {
  const mine = useTranslations('myPrivacy.refused')
  const deletion = useTranslations('deletion.refused')
  const format = useFormatter()
  const now = useNow()
  if (!(error instanceof RequestRefused)) return null
  const { problem, retryAfter } = error
  const requestId = problem.instance
  if (problem.code === 'conflict' && conflict !== undefined) {
    const told =
      conflict === 'ofAll'
        ? { title: mine('ofAll.what'), text: mine('ofAll.do') }
        : { title: deletion('lastAdmin.what'), text: deletion('lastAdmin.do') }
    return <OwnWords {...told} requestId={requestId} />
  }
  if (problem.code === 'rate_limited') {
    const wait =
      retryAfter === undefined
        ? 'none'
        : spacedDigits(format.relativeTime(new Date(now.getTime() + retryAfter * 1000), now))
    return <OwnWords title={mine('rate_limited.what')} text={mine('rate_limited.do', { wait })} requestId={requestId} />
  }
  const isOwn = <W extends keyof typeof own>(list: W): Own<W> | undefined =>
    own[list].find((code): code is Own<W> => code === problem.code)
  const here = words === 'myPrivacy' ? isOwn('myPrivacy') : undefined
  if (here) return <OwnWords title={mine(`${here}.what`)} text={mine(`${here}.do`)} requestId={requestId} />
  const there = words === 'deletion' ? isOwn('deletion') : undefined
  if (there) return <OwnWords title={deletion(`${there}.what`)} text={deletion(`${there}.do`)} requestId={requestId} />
  return <ProblemAlert problem={problem} />
}
