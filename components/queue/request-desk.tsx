'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { useApiQuery } from '#components/frame/api-query.ts'
import { useKeys } from '#components/frame/keys.ts'
import { requestTones } from '#components/requests/request-tones.ts'
import { Badge } from '#components/ui/badge.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import { Page, Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { showToast } from '#components/ui/toast.ts'
import type { DialogAct } from './act-shell.tsx'
import { actsOf, partsByHand, type QueueAct } from './acts.ts'
import { type AdminRequestDetail, type Minder, readAnyRequestAt } from './endpoints.ts'
import { actKeys, RequestActions } from './request-actions.tsx'
import { RequestAside } from './request-aside.tsx'
import {
  AdminRequestParts,
  CorrectionDesk,
  RequestConnection,
  RequestDisconnection,
  RequestErasure,
} from './request-later.tsx'
import { RequestNext } from './request-next.tsx'
import { RequestTimeline } from './request-timeline.tsx'
import { useRequestWords } from './request-words.tsx'

/** Polls while an erasure runs; otherwise changes take days. */
const pace = ({ erasure, state }: AdminRequestDetail): number | false => {
  if (erasure && ['planning', 'erasing', 'verifying'].includes(erasure.state)) return 2_000
  return state === 'running' || state === 'verifying' ? 10_000 : false
}

const dialogs = () => import('./act-dialogs.tsx')

interface RequestDeskProps {
  initial: { data: AdminRequestDetail }
  me: string
  minders: readonly Minder[]
}

/** One request with all actions of an admin. */
export function RequestDesk({ initial, me, minders }: RequestDeskProps) {
  const t = useTranslations('adminRequest')
  const queue = useTranslations('queue')
  const words = useRequestWords()
  const router = useRouter()
  const asked = useApiQuery(
    readAnyRequestAt,
    { params: { id: initial.data.id } },
    { initial, every: (answer) => (answer ? pace(answer.data) : false) },
  )
  const request = asked.data?.data ?? initial.data
  const acts = actsOf(request, request.erasure)
  const [act, setAct] = useState<DialogAct>()
  const [corrected, setCorrected] = useState<readonly string[]>([])
  const loaded = useLoaded(dialogs, act !== undefined)
  const answer = useFocusAfter(act === undefined)
  const begin = (wanted: QueueAct) => {
    if (wanted === 'comment') document.querySelector<HTMLElement>('[data-comment]')?.focus()
    else setAct(wanted)
  }
  useKeys([
    ...acts.map((wanted) => ({ key: actKeys[wanted], label: queue(`acts.${wanted}`), run: () => begin(wanted) })),
    { key: 'b', label: queue('name'), run: () => router.push('/admin/requests') },
  ])
  const done = (finished: DialogAct) => {
    // Assigning has its own message, which can be undone.
    if (finished !== 'assign') showToast({ title: t(`finished.${finished}`) })
    answer.expect()
    setAct(undefined)
  }

  return (
    <Page
      width="wide"
      breadcrumbs={[{ href: '/admin/requests', title: queue('name') }]}
      title={t('title', { kinds: words.kinds(request), subject: words.subject(request) })}
      status={
        <Badge tone={requestTones[request.state]} hasDot>
          {words.state(request)}
        </Badge>
      }
      actions={<RequestActions acts={acts} onAct={begin} />}
      aside={<RequestAside request={request} />}
    >
      {asked.problem && <ProblemAlert problem={asked.problem} />}
      <RequestNext request={request} focus={answer.ref} />
      {request.subject === 'requester' && request.state === 'received' && <RequestConnection request={request} />}
      <div className="@container grid gap-6">
        <div className="grid gap-6 @4xl:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]">
          {request.statement !== null && (
            <Section id="statement" title={t('statement.title')} lead={t('statement.text')}>
              <blockquote dir="auto" className="border-l-2 border-edge pl-4 whitespace-pre-wrap wrap-anywhere">
                {request.statement}
              </blockquote>
            </Section>
          )}
          {partsByHand(request).includes('rectification') && request.participant_id === null && (
            <CorrectionDesk
              request={request}
              onCorrected={(title) => setCorrected((known) => [...new Set([...known, title])])}
              onAnswer={() => begin('complete')}
            />
          )}
        </div>
      </div>
      <Section id="parts" title={t('parts.title')}>
        <AdminRequestParts request={request} />
      </Section>
      {request.kinds.includes('erasure') && <RequestErasure request={request} />}
      {request.channel === 'form' && request.subject !== 'requester' && request.state === 'received' && (
        <RequestDisconnection request={request} />
      )}
      <Section id="timeline" title={t('timeline.title')}>
        <RequestTimeline request={request} canComment={acts.includes('comment')} />
      </Section>
      {act && loaded && (
        <loaded.ActDialog
          key={act}
          act={act}
          request={request}
          corrected={corrected}
          minders={minders}
          me={me}
          close={() => setAct(undefined)}
          done={() => done(act)}
        />
      )}
    </Page>
  )
}

/** Focuses the answer of the page after an action, because its button may have disappeared. */
function useFocusAfter(isClosed: boolean) {
  const ref = useRef<HTMLElement>(null)
  const isExpected = useRef(false)
  useEffect(() => {
    if (!isClosed || !isExpected.current) return
    isExpected.current = false
    // The closing dialog first returns the focus to its button.
    const timer = setTimeout(() => ref.current?.focus(), 100)
    return () => clearTimeout(timer)
  }, [isClosed])
  return {
    ref,
    expect: () => {
      isExpected.current = true
    },
  }
}
