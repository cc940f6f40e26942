'use client'

import { useMutation } from '@tanstack/react-query'
import { Info, TriangleAlert } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useFormatter, useNow, useTranslations } from 'next-intl'
import { useRef } from 'react'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Time } from '#components/ui/time.tsx'
import { type Endpoint, RequestRefused, request } from '#lib/client/request.ts'
import type { cancelRequest } from '#lib/domains/privacy-requests/contract.ts'
import type { ErasureAhead } from '#lib/domains/privacy-requests/rules.ts'
import { BannerLine } from './banner-line.tsx'

const cancelAt: Endpoint<typeof cancelRequest> = { method: 'post', path: '/api/privacy/requests/{id}/cancel' }

/** How it stands at this moment: the server says what began, the clock whether the grace is over. */
function standingOf({ state, grace, waitsForCopy }: ErasureAhead, now: Date) {
  if (state !== 'waiting') return state
  if (grace && Date.parse(grace.until) > now.getTime()) return 'waiting'
  return waitsForCopy ? 'afterCopy' : 'due'
}
/** Less than a quarter of the grace is left. */
const isNear = ({ from, until }: { from: string; until: string }, now: Date): boolean =>
  Date.parse(until) - now.getTime() < (Date.parse(until) - Date.parse(from)) / 4

/** One erasure and, as long as it has not begun, the button that calls it off. */
export function ErasureNotice({ erasure, onKept }: { erasure: ErasureAhead; onKept: () => void }) {
  const t = useTranslations('erasure')
  const format = useFormatter()
  const now = useNow({ updateInterval: 60_000 })
  const router = useRouter()
  // The state of the mutation is told a moment later: the second press of a double click must not ask again.
  const isAsked = useRef(false)
  const cancelling = useMutation({
    mutationFn: () => request(cancelAt, { params: { id: erasure.requestId } }),
    onSuccess: onKept,
    // Done or too late: the server knows how it stands.
    onSettled: () => {
      isAsked.current = false
      router.refresh()
    },
  })
  const problem = cancelling.error instanceof RequestRefused ? cancelling.error.problem : undefined
  const { agent, grace } = erasure
  const whom = agent === null ? 'person' : 'agent'
  const name = { agent: agent ?? '' }
  const standing = standingOf(erasure, now)
  const hasBegun = standing === 'running'
  const isUrgent = !hasBegun && (standing === 'due' || (grace !== null && isNear(grace, now)))
  const notes = hasBegun
    ? [t(agent === null ? 'ends' : 'follows')]
    : [
        t(`${whom}.${erasure.areTokensStopped ? 'stopped' : 'unstopped'}`),
        ...(erasure.waitsForCopy && standing === 'waiting' ? [t('copy')] : []),
        ...(erasure.isMixed ? [t('whole')] : []),
      ]

  return (
    <BannerLine
      Icon={isUrgent ? TriangleAlert : Info}
      isUrgent={isUrgent}
      title={
        standing === 'waiting' && grace
          ? t.rich(`${whom}.waiting`, {
              ...name,
              time: () => <Time at={grace.until} />,
              left: format.relativeTime(new Date(grace.until), now),
            })
          : t(`${whom}.${standing === 'waiting' ? 'due' : standing}`, name)
      }
      notes={notes}
      action={
        !hasBegun && (
          <Button
            size="small"
            aria-disabled={cancelling.isPending}
            aria-label={agent === null ? undefined : t('agent.keepNamed', { agent })}
            onClick={() => {
              if (isAsked.current) return
              isAsked.current = true
              cancelling.mutate()
            }}
            className="max-sm:ml-7.5"
          >
            {cancelling.isPending ? t('busy') : t(`${whom}.keep`)}
          </Button>
        )
      }
    >
      {problem && !hasBegun && <ProblemAlert problem={problem} />}
    </BannerLine>
  )
}
