'use client'

import { useNow, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { isStuck, isUndecided } from '#components/erasures/fault-rules.ts'
import { requestSayingOf } from '#components/requests/request-rules.ts'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { Time } from '#components/ui/time.tsx'
import { partsByHand } from './acts.ts'
import { DueStatusTag } from './due-tag.tsx'
import type { AdminRequestDetail } from './endpoints.ts'

/** What the request waits for, in one sentence. */
function useNextStep(request: AdminRequestDetail): ReactNode {
  const t = useTranslations('adminRequest.next')
  const kinds = useTranslations('requestNames.kinds')
  const { list } = usePunctuation()
  const now = useNow({ updateInterval: 60_000 })
  const { state, paused, waiting_until, erasure, parts } = request
  const byHand = partsByHand(request)
  if (paused) return t.rich('paused', { time: () => <Time at={paused.since} show="relative" />, reason: paused.reason })
  const saying = requestSayingOf(request, request.timeline, now)
  if ((saying === 'waitingPerson' || saying === 'waitingAgent') && waiting_until !== null)
    return t.rich('waiting', { time: () => <Time at={waiting_until} show="both" /> })
  if (saying === 'blocked' || saying === 'copyFirst') return t(saying)
  if (saying === 'duePerson' || saying === 'dueAgent') return t('due')
  if (erasure?.steps.some(isStuck)) return t('stuck')
  if (erasure?.steps.some(isUndecided)) return t('undecided')
  if (byHand.length > 0) return t('byHand', { kinds: list(byHand.map((kind) => kinds(kind))) })
  const isCopying = parts.some(
    (part) => part.state === 'running' && (part.kind === 'access' || part.kind === 'portability'),
  )
  if (state === 'running' && isCopying) return t('copy')
  if (request.subject === 'requester' && state === 'received') return t('unconnected')
  if (request.subject === 'requester' && state === 'completed') return t('answered')
  if (request.channel === 'form' && request.participant_id !== null && state === 'received') return t('unverified')
  if (state === 'received' && request.timeline.some(({ event }) => event === 'doubted')) return t('doubted')
  return t(state === 'waiting' ? 'verified' : state)
}

/** The answer of the page: what happens next, and by when. It takes the focus after an action. */
export function RequestNext({ request, focus }: { request: AdminRequestDetail; focus: React.Ref<HTMLElement> }) {
  const t = useTranslations('adminRequest.next')
  const next = useNextStep(request)
  return (
    <section
      ref={focus}
      tabIndex={-1}
      aria-label={t('title')}
      className="grid gap-2 rounded-box border border-line bg-raised p-4"
    >
      {request.due !== 'stopped' && (
        <p>
          <DueStatusTag request={request} />
        </p>
      )}
      <p className="text-lg">{next}</p>
    </section>
  )
}
