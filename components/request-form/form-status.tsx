'use client'

import { useMutation, useQuery } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { saveFile } from '#components/ui/save-file.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { RequestRefused, request } from '#lib/client/request.ts'
import { formCopyAt, formStatusAt, type FormStatus as Status, withdrawFormAt } from './endpoints.ts'
import { useFragment } from './fragment.ts'
import { StatusLinks } from './status-links.tsx'

const tones = {
  in_review: 'progress',
  confirm_by_email: 'warning',
  verifying_identity: 'progress',
  grace_period: 'warning',
  in_progress: 'progress',
  delayed: 'warning',
  answered: 'success',
  completed: 'success',
  partly_completed: 'warning',
  cancelled: 'neutral',
  refused: 'neutral',
} as const satisfies Record<Status['stage'], string>

/** Stages in which a request can be withdrawn, unless the link cannot do it. */
const withdrawable: readonly Status['stage'][] = ['in_review', 'confirm_by_email', 'verifying_identity', 'grace_period']

function StatusFacts({ status }: { status: Status }) {
  const t = useTranslations('requestForm.status')
  const kinds = useTranslations('requestNames.kinds')
  const { close, list, open } = usePunctuation()
  return (
    <FactList
      facts={[
        [t('kind'), list(status.kinds.map((kind) => kinds(kind)))],
        [t('received'), <Time key="r" at={status.received_at} />],
        ...(status.closed_at === null
          ? [
              [
                t('due'),
                <span key="d">
                  <Time at={status.legal_due_at} />
                  {status.paused
                    ? `${open}${t('paused')}${close}`
                    : status.extended
                      ? `${open}${t('extended')}${close}`
                      : ''}
                </span>,
              ] as const,
            ]
          : [[t('closed'), <Time key="c" at={status.closed_at} />] as const]),
        ...(status.erasure_at === null ? [] : [[t('erasure'), <Time key="e" at={status.erasure_at} />] as const]),
        ...(status.expires_at === null ? [] : [[t('expires'), <Time key="x" at={status.expires_at} />] as const]),
      ]}
    />
  )
}

function Messages({ messages }: { messages: Status['messages'] }) {
  const t = useTranslations('requestForm.status')
  if (messages.length === 0) return <p className="text-quiet">{t('noMessages')}</p>
  return (
    <ol className="grid gap-4">
      {messages.map(({ at, note }) => (
        <li key={`${at}${note}`} className="grid gap-1">
          <p className="text-sm text-quiet">
            <Time at={at} />
          </p>
          <blockquote dir="auto" className="border-l-2 border-edge pl-4 whitespace-pre-wrap [overflow-wrap:anywhere]">
            {note}
          </blockquote>
        </li>
      ))}
    </ol>
  )
}

/** Downloads the copy. The token goes into the body of the request: the address of a download would be logged. */
function Copy({ token }: { token: string }) {
  const t = useTranslations('requestForm.status')
  const fetched = useMutation({
    mutationFn: () => request(formCopyAt, { body: { token } }),
    onSuccess: (text) => saveFile('my-data.ndjson', text, 'application/x-ndjson'),
  })
  const problem = fetched.error instanceof RequestRefused ? fetched.error.problem : undefined
  return (
    <>
      <p>{t('copyReady')}</p>
      {problem && <ProblemAlert problem={problem} />}
      <Button
        className="justify-self-start"
        aria-disabled={fetched.isPending}
        onClick={() => !fetched.isPending && fetched.mutate()}
      >
        {t('copyDownload')}
      </Button>
    </>
  )
}

function Withdraw({ token, done }: { token: string; done: () => void }) {
  const t = useTranslations('requestForm.status')
  const [isOpen, setOpen] = useState(false)
  const change = useApiMutation(withdrawFormAt)
  return (
    <>
      <Button tone="plain" className="justify-self-start" onClick={() => setOpen(true)}>
        {t('withdraw')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('withdrawTitle')}
        consequences={<p>{t('withdrawText')}</p>}
        action={t('withdraw')}
        tone="main"
        change={change}
        onConfirm={() =>
          change.begin({ body: { token } }, () => {
            setOpen(false)
            done()
          })
        }
      />
    </>
  )
}

function Shown({ status, token, reload }: { status: Status; token: string; reload: () => void }) {
  const t = useTranslations('requestForm.status')
  return (
    <div className="grid gap-8">
      <section aria-label={t('now')} className="grid gap-2 rounded-box border border-line bg-raised p-4">
        <p>
          <Badge tone={tones[status.stage]} hasDot>
            {t(`stages.${status.stage}.name`)}
          </Badge>
        </p>
        <p role="status" className="text-lg">
          {t(`stages.${status.stage}.text`)}
        </p>
        {status.copy === 'sign_in' && (
          <p>{t.rich('copySignIn', { here: (words) => <TextLink href="/settings/privacy">{words}</TextLink> })}</p>
        )}
        {status.copy === 'organization' && <p>{t('copyOrganization')}</p>}
        {status.copy === 'email' && <p>{t('copyEmail')}</p>}
        {status.copy === 'download' && <Copy token={token} />}
      </section>
      <StatusFacts status={status} />
      <Section id="messages" title={t('messages')}>
        <Messages messages={status.messages} />
      </Section>
      {status.can_withdraw && <Withdraw token={token} done={reload} />}
      {/* An admin saw the link. */}
      {!status.can_withdraw && withdrawable.includes(status.stage) && <p>{t('withdrawOrganization')}</p>}
      <p className="text-sm text-quiet">{t('erasedToo')}</p>
    </div>
  )
}

/** The status of one request, for the holder of the link. */
export function FormStatus() {
  const t = useTranslations('requestForm.status')
  const confirm = useTranslations('requestForm.confirm')
  const token = useFragment()
  const asked = useQuery({
    queryKey: ['request-form-status', token],
    queryFn: () => request(formStatusAt, { body: { token: token ?? '' } }),
    enabled: token !== undefined && token !== '',
    retry: false,
    refetchInterval: 60_000,
  })
  const problem = asked.error instanceof RequestRefused ? asked.error.problem : undefined
  if (token === '' || problem?.code === 'link_spent')
    return (
      <div className="grid gap-8">
        <Alert tone="warning" title={token === '' ? confirm('missing') : t('spent')}>
          <p>{token === '' ? confirm('missingText') : t('spentText')}</p>
        </Alert>
        <StatusLinks />
      </div>
    )
  if (problem) return <ProblemAlert problem={problem} />
  if (token === undefined || !asked.data) return <p className="text-quiet">{t('loading')}</p>
  return <Shown status={asked.data.data} token={token} reload={() => void asked.refetch()} />
}
