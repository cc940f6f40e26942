'use client'

import { useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { CancelButton, CancelOutcome } from './cancel-button.tsx'
import { PasswordAct } from './password-act.tsx'
import { isRetryable, isWaitingForAddress } from './request-rules.ts'
import {
  type OwnRequestDetail,
  useCancelling,
  useExpediting,
  useRetrying,
  useSendingLink,
  useVerifying,
} from './requests.ts'

const actionsOf = (request: OwnRequestDetail, hasPassword: boolean) => ({
  mayEnd: request.state === 'waiting' && request.paused === null && !request.for_member,
  mayConfirm: request.state === 'received' && !request.for_member && hasPassword,
  maySend: request.state === 'received' || (isWaitingForAddress(request) && !request.for_member),
  mayRetry: isRetryable(request),
})

/** What the reader can do about a request, and the results of it. */
export function RequestActions({ request, hasPassword }: { request: OwnRequestDetail; hasPassword: boolean }) {
  const t = useTranslations('requests.request.actions')
  const cancelling = useCancelling()
  const expediting = useExpediting()
  const verifying = useVerifying()
  const sending = useSendingLink()
  const retrying = useRetrying()
  const { mayEnd, mayConfirm, maySend, mayRetry } = actionsOf(request, hasPassword)
  const isErasing = request.kinds.includes('erasure')
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
