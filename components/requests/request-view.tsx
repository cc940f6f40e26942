'use client'

import { useNow, useTranslations } from 'next-intl'
import { MentionsOf } from '#components/erasures/mentions.tsx'
import { StoreProgress } from '#components/erasures/store-progress.tsx'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { RequestActions } from './request-actions.tsx'
import { RequestDeadlines, RequestFacts } from './request-clocks.tsx'
import { RequestPartList } from './request-parts.tsx'
import { requestPollInterval, requestSayingOf, signedReceiptOf } from './request-rules.ts'
import { RequestStatusDetail, RequestStatusText } from './request-status.tsx'
import { requestTones } from './request-tones.ts'
import { type OwnRequestDetail, readOwnRequestAt } from './requests.ts'
import { RequestTimeline } from './timeline.tsx'

function useBreadcrumbs() {
  const t = useTranslations('requests')
  return [{ href: '/settings/privacy/requests', title: t('name') }]
}

/** After its erasure has begun, a request names nobody and nobody can read it. The receipt shows the state. */
function ErasedSubject({ receiptId }: { receiptId: string | null }) {
  const t = useTranslations('requests.request')
  return (
    <Page
      title={t('name')}
      breadcrumbs={useBreadcrumbs()}
      summary={<p>{t('says.gone')}</p>}
      lead={<p>{t(receiptId === null ? 'leads.goneUnsigned' : 'leads.gone')}</p>}
      actions={receiptId !== null && <ButtonLink href={`/receipts/${receiptId}`}>{t('receiptOpen')}</ButtonLink>}
    />
  )
}

function RequestContent({ request }: { request: OwnRequestDetail }) {
  const t = useTranslations('requests.request')
  const { erasure, statement } = request
  const held = (erasure?.steps ?? []).flatMap((step) => step.held).reduce((sum, { count }) => sum + count, 0)
  return (
    <>
      {erasure && (
        <Section id="progress" title={t('progress')}>
          <StoreProgress run={erasure} />
          {held > 0 && <p>{t('kept', { count: held })}</p>}
        </Section>
      )}
      {erasure && <MentionsOf runId={erasure.run_id} isOver={erasure.state === 'done'} />}
      <Section id="parts" title={t('parts')}>
        <RequestPartList request={request} />
        {statement !== null && (
          <div className="grid gap-1">
            <h3 className="font-medium">{t('statement')}</h3>
            <p className="max-w-prose whitespace-pre-wrap wrap-anywhere" dir="auto">
              {statement}
            </p>
          </div>
        )}
      </Section>
      <Section id="timeline" title={t('timeline')}>
        <RequestTimeline label={t('timeline')} events={request.timeline} />
      </Section>
    </>
  )
}

interface RequestPanelProps {
  initial: OwnRequestDetail
  hasPassword: boolean
  /** The name of the agent that the request is about. */
  agentName: string | undefined
}
/** One request: its state, actions, deadlines, progress and timeline. It polls for changes. */
export function RequestPanel({ initial, hasPassword, agentName }: RequestPanelProps) {
  const t = useTranslations('requests')
  const names = useTranslations('requestNames')
  const { list } = usePunctuation()
  const now = useNow({ updateInterval: 10_000 })
  const breadcrumbs = useBreadcrumbs()
  const { data, problem } = useApiQuery(
    readOwnRequestAt,
    { params: { id: initial.id } },
    {
      initial: { data: initial },
      every: (answer) => requestPollInterval(answer?.data ?? initial, answer?.data.erasure ?? null),
    },
  )
  const request = data?.data ?? initial
  if (problem?.code === 'not_found') return <ErasedSubject receiptId={request.receipt_id} />
  const saying = requestSayingOf(request, request.timeline, now)
  const receiptId = signedReceiptOf(request)
  return (
    <Page
      title={list(request.kinds.map((kind) => names(`kinds.${kind}`)))}
      breadcrumbs={breadcrumbs}
      status={
        <Badge tone={requestTones[request.state]} hasDot>
          {names(`states.${request.state}`)}
        </Badge>
      }
      summary={<RequestStatusText saying={saying} request={request} agentName={agentName} />}
      lead={
        <>
          <RequestStatusDetail saying={saying} request={request} hasPassword={hasPassword} />
          {request.for_member && <p>{t('request.leads.member')}</p>}
        </>
      }
      actions={
        receiptId !== null && <ButtonLink href={`/receipts/${receiptId}`}>{t('request.receiptOpen')}</ButtonLink>
      }
      aside={
        <>
          <RequestDeadlines request={request} />
          <RequestFacts request={request} agentName={agentName} />
        </>
      }
    >
      {problem && <ProblemAlert problem={problem} />}
      <RequestActions request={request} hasPassword={hasPassword} />
      <RequestContent request={request} />
    </Page>
  )
}
