'use client'

import { useRouter } from 'next/navigation'
import { useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { isStuck, isUndecided } from '#components/erasures/fault-rules.ts'
import { MentionsOf } from '#components/erasures/mentions.tsx'
import { StoreProgress } from '#components/erasures/store-progress.tsx'
import { StuckSteps } from '#components/erasures/stuck-steps.tsx'
import { useApiQuery } from '#components/frame/api-query.ts'
import { useKeys } from '#components/frame/keys.ts'
import { requestSayingOf } from '#components/requests/request-rules.ts'
import { Button } from '#components/ui/button.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { ActDialog } from './act-dialogs.tsx'
import type { DialogAct } from './act-shell.tsx'
import { type Act, actsOf, partsByHand } from './acts.ts'
import { type AdminRequestDetail, type Minder, readAnyRequestAt } from './endpoints.ts'
import { AdminRequestClocks, AdminRequestParts, RequestFacts } from './request-facts.tsx'
import { RequestTimeline } from './request-timeline.tsx'
import { useRequestWords } from './request-words.tsx'

/** The same keys as in the queue for actions that exist there. */
const keys: Record<Act, string> = {
  verify: 'v',
  complete: 'h',
  retry: 't',
  resume: 'u',
  expedite: 'e',
  pause: 'p',
  extend: 'd',
  refuse: 'r',
  assign: 'a',
  comment: 'c',
}
/** These apply to almost every request and are never urgent. */
const always: readonly Act[] = ['assign', 'comment']
const dangers: readonly Act[] = ['expedite', 'refuse']

/** Polls while an erasure runs; otherwise changes take days. */
const pace = ({ erasure, state }: AdminRequestDetail): number | false => {
  if (erasure && ['planning', 'erasing', 'verifying'].includes(erasure.state)) return 2_000
  return state === 'running' || state === 'verifying' ? 10_000 : false
}

function NextStep({ request }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.next')
  const queue = useTranslations('queue.kinds')
  const now = useNow({ updateInterval: 60_000 })
  const { state, paused, waiting_until, erasure, parts } = request
  const byHand = partsByHand(request)
  if (paused) return <p>{t.rich('paused', { time: () => <Time at={paused.since} />, reason: paused.reason })}</p>
  const saying = requestSayingOf(request, request.timeline, now)
  if ((saying === 'waitingPerson' || saying === 'waitingAgent') && waiting_until !== null)
    return <p>{t.rich('waiting', { time: () => <Time at={waiting_until} relative /> })}</p>
  if (saying === 'blocked' || saying === 'copyFirst') return <p>{t(saying)}</p>
  if (saying === 'duePerson' || saying === 'dueAgent') return <p>{t('due')}</p>
  if (erasure?.steps.some(isStuck)) return <p>{t('stuck')}</p>
  if (erasure?.steps.some(isUndecided)) return <p>{t('undecided')}</p>
  if (byHand.length > 0) return <p>{t('byHand', { kinds: byHand.map((kind) => queue(kind)).join(', ') })}</p>
  const isCopying = parts.some(
    (part) => part.state === 'running' && (part.kind === 'access' || part.kind === 'portability'),
  )
  if (state === 'running' && isCopying) return <p>{t('copy')}</p>
  return <p>{t(state === 'waiting' ? 'verified' : state)}</p>
}

interface RequestDeskProps {
  initial: { data: AdminRequestDetail }
  me: string
  minders: readonly Minder[]
}

/** One request with all actions of an admin. */
export function RequestDesk({ initial, me, minders }: RequestDeskProps) {
  const t = useTranslations('adminRequest')
  const words = useRequestWords()
  const router = useRouter()
  const { id } = initial.data
  const asked = useApiQuery(
    readAnyRequestAt,
    { params: { id } },
    { initial, every: (answer) => (answer ? pace(answer.data) : false) },
  )
  const request = asked.data?.data ?? initial.data
  const acts = actsOf(request, request.erasure)
  const [act, setAct] = useState<DialogAct>()
  const [done, setDone] = useState<DialogAct>()
  const begin = (wanted: Act) => {
    if (wanted === 'comment') return document.querySelector<HTMLElement>('[data-comment]')?.focus()
    setDone(undefined)
    setAct(wanted)
  }
  useKeys([
    ...acts.map((wanted) => ({ key: keys[wanted], label: t(`acts.${wanted}`), run: () => begin(wanted) })),
    { key: 'b', label: t('back'), run: () => router.push('/admin/requests') },
  ])
  const { erasure } = request
  const isErased = request.account_id === null && request.agent_id === null

  return (
    <Page
      width="wide"
      title={t(isErased ? 'titleErased' : 'title', {
        kinds: words.kinds(request),
        subject: words.subject(request),
        state: words.state(request),
      })}
      lead={
        <p>
          <TextLink href="/admin/requests">{t('back')}</TextLink>
        </p>
      }
    >
      {asked.problem && <ProblemAlert problem={asked.problem} />}
      <Section id="next" title={t('next.title')}>
        <NextStep request={request} />
        {acts.length > 0 && (
          <fieldset className="flex min-w-0 flex-wrap gap-2">
            <legend className="sr-only">{t('actsTitle')}</legend>
            {acts.map((wanted) => (
              <Button
                key={wanted}
                tone={
                  dangers.includes(wanted)
                    ? 'danger'
                    : wanted === acts[0] && !always.includes(wanted)
                      ? 'main'
                      : 'plain'
                }
                size="small"
                aria-keyshortcuts={keys[wanted]}
                onClick={() => begin(wanted)}
              >
                {t(`acts.${wanted}`)}
              </Button>
            ))}
          </fieldset>
        )}
        <p role="status" className="text-accent empty:hidden">
          {done ? t('done', { act: t(`acts.${done}`) }) : ''}
        </p>
      </Section>
      <Section id="clocks" title={t('clocks.title')}>
        <AdminRequestClocks request={request} />
      </Section>
      <Section id="parts" title={t('parts.title')}>
        <AdminRequestParts request={request} />
      </Section>
      {request.kinds.includes('erasure') && (
        <Section id="erasure" title={t('erasure.title')}>
          {erasure ? (
            <>
              <StuckSteps steps={erasure.steps} requestId={request.id} />
              <StoreProgress run={erasure} />
              <p>
                <TextLink href={`/admin/erasures/${erasure.run_id}`}>{t('erasure.open')}</TextLink>
              </p>
            </>
          ) : (
            <p>{t('erasure.none')}</p>
          )}
        </Section>
      )}
      {erasure && <MentionsOf runId={erasure.run_id} isOver={erasure.state === 'done'} />}
      {request.holds.length > 0 && (
        <Section id="holds" title={t('holds.title')} lead={t('holds.text')}>
          <ul className="grid gap-1">
            {request.holds.map((hold) => (
              <li key={hold}>
                <TextLink href={`/admin/holds?q=${hold}`}>
                  {t('holds.see')} <code className="font-mono text-[0.8125rem]">{hold}</code>
                </TextLink>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {request.statement !== null && (
        <Section id="statement" title={t('statement.title')} lead={t('statement.text')}>
          <blockquote dir="auto" className="border-l-2 border-edge pl-4 whitespace-pre-wrap [overflow-wrap:anywhere]">
            {request.statement}
          </blockquote>
        </Section>
      )}
      <Section id="facts" title={t('facts.title')}>
        <RequestFacts request={request} />
      </Section>
      <Section id="timeline" title={t('timeline.title')}>
        <RequestTimeline request={request} canComment={acts.includes('comment')} />
      </Section>
      <Section id="proof" title={t('proof.title')}>
        <ul className="grid gap-1">
          {request.kinds.includes('erasure') && (
            <li>
              {erasure?.receipt_id ? (
                <TextLink href={`/receipts/${erasure.receipt_id}`}>{t('proof.receipt')}</TextLink>
              ) : (
                <span className="text-quiet">{t('proof.receiptLater')}</span>
              )}
            </li>
          )}
          <li>
            <TextLink href={`/admin/audit?resource_id=${request.id}`}>{t('proof.audit')}</TextLink>
          </li>
        </ul>
      </Section>
      {act && (
        <ActDialog
          key={act}
          act={act}
          request={request}
          minders={minders}
          me={me}
          close={() => setAct(undefined)}
          done={() => {
            setDone(act)
            setAct(undefined)
          }}
        />
      )}
    </Page>
  )
}
