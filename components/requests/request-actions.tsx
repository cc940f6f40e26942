'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useDataNames } from '#components/stores/data-names.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import type { PasswordActProps } from './password-dialog.tsx'
import { isRetryable, isWaitingForAddress } from './request-rules.ts'
import {
  type OwnRequestDetail,
  useCancelling,
  useExpediting,
  useRetrying,
  useSendingLink,
  useVerifying,
} from './requests.ts'

/** The number of records that were already erased, by store, from the refusal. */
function erasedIn(problem: object | undefined): [store: string, count: number][] {
  if (!problem || !('erased' in problem)) return []
  const { erased } = problem
  if (typeof erased !== 'object' || erased === null) return []
  return Object.entries(erased).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && entry[1] > 0,
  )
}

interface CancelProps {
  id: string
  /** The button label. */
  label: string
  cancelling: ReturnType<typeof useCancelling>
}
/** Cancels a request. Further clicks have no effect. */
function CancelButton({ id, label, cancelling }: CancelProps) {
  const t = useTranslations('common')
  return (
    <Button aria-disabled={cancelling.isPending} onClick={() => cancelling.begin({ params: { id } })}>
      {cancelling.isPending ? t('busy') : label}
    </Button>
  )
}

/** The result of a cancellation: done, refused, or too late, with the counts of erased records. */
function CancelOutcome({ cancelling }: Pick<CancelProps, 'cancelling'>) {
  const t = useTranslations('requests.request.actions')
  const common = useTranslations('common')
  const { list } = usePunctuation()
  const names = useDataNames()
  const { problem, isSuccess } = cancelling
  if (isSuccess) return <Alert tone="done" isLive title={t('cancelled')} />
  if (problem?.code !== 'wrong_state') return problem ? <ProblemAlert problem={problem} /> : null
  const erased = erasedIn(problem)
  return (
    <Alert tone="warning" isLive title={t('tooLate')}>
      {erased.length > 0 && (
        <p>
          {t('erasedSoFar', {
            list: list(erased.map(([store, count]) => common('nameCount', { name: names.place(store), count }))),
          })}
        </p>
      )}
    </Alert>
  )
}

const dialog = () => import('./password-dialog.tsx')

/** A sensitive action, which asks for the password again. */
function PasswordAct(props: PasswordActProps) {
  const t = useTranslations('requests.request.actions')
  const [isOpen, setOpen] = useState(false)
  const loaded = useLoaded(dialog, isOpen)
  return (
    <>
      <Button tone="plain" onClick={() => setOpen(true)}>
        {t(props.act)}
      </Button>
      {loaded && <loaded.PasswordDialog {...props} open={isOpen} onOpen={setOpen} />}
    </>
  )
}

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
