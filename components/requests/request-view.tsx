'use client'

import { useNow, useTranslations } from 'next-intl'
import { MentionsOf } from '#components/erasures/mentions.tsx'
import { StoreProgress } from '#components/erasures/store-progress.tsx'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { CancelButton, CancelOutcome } from './cancel-button.tsx'
import { PasswordAct } from './password-act.tsx'
import { RequestClocks } from './request-clocks.tsx'
import { RequestPartList } from './request-parts.tsx'
import {
  isRetryable,
  isWaitingForAddress,
  requestPollInterval,
  requestSayingOf,
  signedReceiptOf,
} from './request-rules.ts'
import { RequestStatusDetail, RequestStatusText } from './request-status.tsx'
import {
  type OwnRequestDetail,
  readOwnRequestAt,
  useCancelling,
  useExpediting,
  useRetrying,
  useSendingLink,
  useVerifying,
} from './requests.ts'
import { Timeline } from './timeline.tsx'

/** After its erasure has begun, a request names nobody and nobody can read it. The receipt shows the state. */
function ErasedSubject({ receiptId }: { receiptId: string | null }) {
  const t = useTranslations('requests.request')
  return (
    <Page title={t('says.gone')} lead={<p>{t(receiptId === null ? 'leads.goneUnsigned' : 'leads.gone')}</p>}>
      <p className="flex flex-wrap gap-3">
        {receiptId !== null && <ButtonLink href={`/receipts/${receiptId}`}>{t('receiptOpen')}</ButtonLink>}
        <ButtonLink tone="plain" href="/settings/privacy/requests">
          {t('all')}
        </ButtonLink>
      </p>
    </Page>
  )
}

function Actions({ request, hasPassword }: { request: OwnRequestDetail; hasPassword: boolean }) {
  const t = useTranslations('requests.request.actions')
  const cancelling = useCancelling()
  const expediting = useExpediting()
  const verifying = useVerifying()
  const sending = useSendingLink()
  const retrying = useRetrying()
  const isErasing = request.kinds.includes('erasure')
  const mayEnd = request.state === 'waiting' && request.paused === null && !request.for_member
  const mayConfirm = request.state === 'received' && !request.for_member && hasPassword
  const maySend = request.state === 'received' || (isWaitingForAddress(request) && !request.for_member)
  const mayRetry = isRetryable(request)
  const said = cancelling.isSuccess || cancelling.isError || sending.isSuccess || sending.isError
  if (!request.can_cancel && !mayConfirm && !maySend && !mayRetry && !said) return null
  return (
    <div className="grid gap-3">
      <CancelOutcome cancelling={cancelling} />
      {sending.isSuccess && <Alert tone="done" isLive title={t('linkSent')} />}
      {sending.problem && <ProblemAlert problem={sending.problem} />}
      {retrying.problem && <ProblemAlert problem={retrying.problem} />}
      <div className="flex flex-wrap gap-2">
        {mayConfirm && <PasswordAct id={request.id} act="verify" change={verifying} />}
        {maySend && (
          <Button
            tone="plain"
            aria-disabled={sending.isPending}
            onClick={() => sending.begin({ params: { id: request.id } })}
          >
            {t('link')}
          </Button>
        )}
        {request.can_cancel && (
          <CancelButton
            id={request.id}
            cancelling={cancelling}
            label={t(!isErasing ? 'cancel' : request.subject === 'agent' ? 'keepAgent' : 'keep')}
          />
        )}
        {mayRetry && (
          <Button
            tone="plain"
            aria-disabled={retrying.isPending}
            onClick={() => retrying.begin({ params: { id: request.id } })}
          >
            {t('retry')}
          </Button>
        )}
        {mayEnd && hasPassword && <PasswordAct id={request.id} act="expedite" change={expediting} />}
      </div>
      {mayEnd && !hasPassword && (
        <p className="text-sm text-quiet">
          {t.rich('noPassword', { link: (words) => <TextLink href="/account/password">{words}</TextLink> })}
        </p>
      )}
    </div>
  )
}

/** One request: its state, actions, clocks, progress and timeline. It polls for changes. */
export function RequestPanel({ initial, hasPassword }: { initial: OwnRequestDetail; hasPassword: boolean }) {
  const t = useTranslations('requests')
  const now = useNow({ updateInterval: 10_000 })
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
  const held = (request.erasure?.steps ?? []).flatMap((step) => step.held).reduce((sum, { count }) => sum + count, 0)
  return (
    <Page
      title={<RequestStatusText saying={saying} request={request} />}
      lead={
        <>
          <RequestStatusDetail saying={saying} request={request} hasPassword={hasPassword} />
          {request.for_member && <p>{t('request.leads.member')}</p>}
          <p>
            <TextLink href="/settings/privacy/requests">{t('request.all')}</TextLink>
          </p>
        </>
      }
    >
      {problem && <ProblemAlert problem={problem} />}
      <Actions request={request} hasPassword={hasPassword} />
      {receiptId !== null && (
        <Section id="receipt" title={t('request.receipt')} lead={t('request.receiptLead')}>
          <p>
            <ButtonLink tone="plain" href={`/receipts/${receiptId}`}>
              {t('request.receiptOpen')}
            </ButtonLink>
          </p>
        </Section>
      )}
      {request.erasure && (
        <Section id="progress" title={t('request.progress')} lead={t('request.progressLead')}>
          <StoreProgress run={request.erasure} />
          {held > 0 && <p>{t('request.kept', { count: held })}</p>}
        </Section>
      )}
      {request.erasure && <MentionsOf runId={request.erasure.run_id} isOver={request.erasure.state === 'done'} />}
      <Section id="clocks" title={t('request.clocks')}>
        <RequestClocks request={request} />
      </Section>
      <Section id="parts" title={t('request.parts')}>
        <RequestPartList request={request} />
        {request.statement !== null && (
          <div className="grid gap-1">
            <h3 className="font-medium">{t('request.statement')}</h3>
            <p className="max-w-prose whitespace-pre-wrap [overflow-wrap:anywhere]" dir="auto">
              {request.statement}
            </p>
          </div>
        )}
      </Section>
      <Section id="timeline" title={t('request.timeline')}>
        <Timeline events={request.timeline} />
      </Section>
    </Page>
  )
}
