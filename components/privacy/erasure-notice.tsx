'use client'

import { useMutation } from '@tanstack/react-query'
import { Info, TriangleAlert } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useFormatter, useNow, useTranslations } from 'next-intl'
import { useRef } from 'react'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { spacedDigits } from '#components/ui/punctuation.ts'
import { Time } from '#components/ui/time.tsx'
import { type Endpoint, RequestRefused, request } from '#lib/client/request.ts'
import type { cancelRequest } from '#lib/domains/privacy-requests/contract.ts'
import type { ErasureAhead } from '#lib/domains/privacy-requests/rules.ts'
import { BannerLine } from './banner-line.tsx'

const cancelAt: Endpoint<typeof cancelRequest> = { method: 'post', path: '/api/privacy/requests/{id}/cancel' }

/** The current state: the server reports what has begun, the clock whether the grace period is over. */
function statusOf({ state, grace, waitsForCopy }: ErasureAhead, now: Date) {
  if (state !== 'waiting') return state
  if (grace && Date.parse(grace.until) > now.getTime()) return 'waiting'
  return waitsForCopy ? 'afterCopy' : 'due'
}
/** One erasure, with a button that cancels it until it starts. */
export function ErasureNotice({ erasure, onKept }: { erasure: ErasureAhead; onKept: () => void }) {
  const t = useTranslations('erasure')
  const format = useFormatter()
  const now = useNow({ updateInterval: 60_000 })
  const router = useRouter()
  // The mutation state updates only with the next render: ignore the second press of a double click.
  const isAsked = useRef(false)
  const cancelling = useMutation({
    mutationFn: () => request(cancelAt, { params: { id: erasure.requestId } }),
    onSuccess: onKept,
    // After a success, the second press of a double click may arrive before the button disappears.
    onError: () => {
      isAsked.current = false
    },
    // Refresh in every case: only the server knows whether the cancellation was in time.
    onSettled: () => router.refresh(),
  })
  const problem = cancelling.error instanceof RequestRefused ? cancelling.error.problem : undefined
  const { agent, grace } = erasure
  const whom = agent === null ? 'person' : 'agent'
  const named = { whom, agent: agent ?? '' }
  const standing = statusOf(erasure, now)
  const hasBegun = standing === 'running'
  const notes = hasBegun
    ? [t(agent === null ? 'ends' : 'follows')]
    : [
        t(erasure.areTokensStopped ? 'stopped' : 'unstopped', { whom }),
        ...(erasure.waitsForCopy && standing === 'waiting' ? [t('copy')] : []),
        ...(erasure.isMixed ? [t('whole')] : []),
      ]

  return (
    <BannerLine
      Icon={hasBegun ? Info : TriangleAlert}
      isUrgent={!hasBegun}
      title={
        standing === 'waiting' && grace
          ? t.rich('waiting', {
              ...named,
              time: () => <Time at={grace.until} />,
              left: spacedDigits(format.relativeTime(new Date(grace.until), now)),
            })
          : t(standing === 'waiting' ? 'due' : standing, named)
      }
      notes={notes}
      action={
        !hasBegun && (
          <Button
            size="small"
            aria-disabled={cancelling.isPending}
            aria-label={agent === null ? undefined : t('keepNamed', { agent })}
            onClick={() => {
              if (isAsked.current) return
              isAsked.current = true
              cancelling.mutate()
            }}
            className="max-sm:ml-7.5"
          >
            {cancelling.isPending ? t('busy') : t('keep', { whom })}
          </Button>
        )
      }
    >
      {problem && !hasBegun && <ProblemAlert problem={problem} />}
    </BannerLine>
  )
}
