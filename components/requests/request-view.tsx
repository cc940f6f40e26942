'use client'

import { useNow, useTranslations } from 'next-intl'
import { Fragment, type ReactNode } from 'react'
import { MentionsOf } from '#components/erasures/mentions.tsx'
import { StoreProgress } from '#components/erasures/store-progress.tsx'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Card, Page, Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { Timeline, type TimelineEvent } from '#components/ui/timeline.tsx'
import { graces, ourTerm, refusalGrounds, requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import { RequestActions } from './request-actions.tsx'
import {
  type RequestPart,
  requestPollInterval,
  requestSayingOf,
  type ShownTimelineEvent,
  signedReceiptOf,
} from './request-rules.ts'
import { RequestStatusDetail, RequestStatusText } from './request-status.tsx'
import { partTones, requestTones } from './request-tones.ts'
import { type OwnRequestDetail, readOwnRequestAt } from './requests.ts'
import { useSpanWords } from './time-left.tsx'
import { handOf, spanOf, toneOfTimeLeft } from './time-left-rules.ts'
import { eventTextOf, eventToneOf, namesIn, numbered, numberIn, textIn, timelineActs } from './timeline-rules.ts'

/** The state of the requested copy; undefined if none is being prepared. */
function copyOf({ outcome: { copy, export_id }, state }: RequestPart) {
  if (copy === 'ready' || copy === 'fetched' || copy === 'gone' || copy === 'failed') return copy
  return export_id !== undefined && state === 'running' ? 'preparing' : undefined
}

/** The parts of a request with the progress of each. */
function RequestPartList({ request: { parts, redact } }: { request: OwnRequestDetail }) {
  const t = useTranslations('requests')
  const names = useTranslations('requestNames')
  return (
    <ul className="divide-y divide-line border-y border-line">
      {parts.map((part) => {
        const copy = copyOf(part)
        const { waits_for: waitsFor } = part.outcome
        return (
          <li key={part.kind} className="grid gap-1 py-2.5">
            <p className="flex flex-wrap gap-x-4">
              <span className="grow font-medium">{names(`kinds.${part.kind}`)}</span>
              <Badge tone={partTones[part.state]} hasDot>
                {part.state === 'running' && (waitsFor === 'address' || waitsFor === 'admin')
                  ? t(`waitsFor.${waitsFor}`)
                  : names(`partStates.${part.state}`)}
              </Badge>
            </p>
            {part.kind === 'erasure' && redact && <p className="text-sm text-quiet">{t('request.redact')}</p>}
            {copy && (
              <p className="text-sm text-quiet">
                {t.rich(`copy.${copy}`, {
                  link: (text) => <TextLink href="/settings/privacy?tab=download">{text}</TextLink>,
                })}
              </p>
            )}
          </li>
        )
      })}
    </ul>
  )
}

const textTones = { plain: undefined, amber: 'text-amber', red: 'text-red' } as const

interface ClockRowProps {
  name: string
  /** The time limit in words. */
  text: string
  from: string
  until: string
  now: Date
  /** The clock is neither paused nor stopped. */
  runs: boolean
}
/** One time limit: its date, the remaining time and the elapsed share. */
function ClockRow({ name, text, from, until, now, runs }: ClockRowProps) {
  const t = useTranslations('requests')
  const words = useSpanWords()
  const { elapsed, secondsLeft } = handOf(from, until, now)
  const left = t(`due.${secondsLeft < 0 ? 'over' : 'left'}`, { left: words(spanOf(secondsLeft)) })
  return (
    <div className="grid gap-1.5 py-3">
      <p className="flex flex-wrap items-baseline gap-x-3">
        <span className="grow font-medium">{name}</span>
        {runs && <span className={textTones[toneOfTimeLeft(secondsLeft)]}>{left}</span>}
        <Time at={until} />
      </p>
      {runs && <ProgressBar value={elapsed} max={1} label={t('request.elapsed', { name, left })} />}
      <p className="text-sm text-quiet">{text}</p>
    </div>
  )
}

const proofs = ['password', 'link', 'token', 'admin', 'manager'] as const

/** The subject, dates and id of a request. */
function RequestFacts({ request, agentName }: { request: OwnRequestDetail; agentName: string | undefined }) {
  const t = useTranslations('requests')
  const { close, open } = usePunctuation()
  const { received_at, verified_at, waiting_until, closed_at } = request
  const proof = proofs.find((one) => one === request.verified_by)
  const about = request.for_member
    ? t('about.member')
    : (agentName ?? request.agent_id ?? t(request.subject === 'person' ? 'about.you' : `about.${request.subject}`))
  const facts: [string, ReactNode][] = [
    [t('request.facts.about'), about],
    [t('request.facts.received'), <Time key="received" at={received_at} />],
  ]
  if (verified_at !== null)
    facts.push([
      t('request.facts.confirmed'),
      <span key="verified">
        <Time at={verified_at} />
        {proof && `${open}${t(`request.facts.by.${proof}`)}${close}`}
      </span>,
    ])
  if (waiting_until !== null)
    facts.push([
      t('request.facts.grace'),
      <Time key="grace" at={waiting_until} relative={request.state === 'waiting'} />,
    ])
  if (closed_at !== null) facts.push([t('request.facts.closed'), <Time key="closed" at={closed_at} />])
  facts.push([t('request.facts.id'), <CopyableId key="id" id={request.id} what={t('request.facts.id')} />])
  return (
    <Card>
      <FactList facts={facts} />
    </Card>
  )
}

/** The two deadlines of an open request: ours and the legal one. */
function RequestDeadlines({ request }: { request: OwnRequestDetail }) {
  const t = useTranslations('requests.request')
  const now = useNow({ updateInterval: 60_000 })
  const { due, due_at, legal_due_at, received_at } = request
  const runs = due !== 'paused' && due !== 'stopped'
  if (due === 'stopped') return null
  return (
    <Card title={t('clocks')}>
      <div className="divide-y divide-line">
        {due_at === null ? (
          <div className="grid gap-1.5 pb-3">
            <p className="font-medium">{t('facts.ours')}</p>
            <p className="text-sm text-quiet">{t('facts.oursNotYet')}</p>
          </div>
        ) : (
          <ClockRow
            name={t('facts.ours')}
            text={t('facts.oursText')}
            from={new Date(Date.parse(due_at) - ourTerm).toISOString()}
            until={due_at}
            now={now}
            runs={runs && Date.parse(due_at) - ourTerm <= now.getTime()}
          />
        )}
        <ClockRow
          name={t('facts.legal')}
          text={t(request.extended ? 'facts.legalExtended' : 'facts.legalText')}
          from={received_at}
          until={legal_due_at}
          now={now}
          runs={runs}
        />
      </div>
    </Card>
  )
}

const fields = ['name', 'email', 'locale'] as const
/** Translates a known name; returns any other name unchanged. */
function known<T extends string>(all: readonly T[], name: string, words: (found: T) => string): string {
  const found = all.find((one) => one === name)
  return found === undefined ? name : words(found)
}

/** An event in words. A value without a translation is shown as it is. */
function EventWords({ event }: { event: ShownTimelineEvent }) {
  const t = useTranslations('timeline')
  const kind = useTranslations('requestNames.kinds')
  const { list } = usePunctuation()
  const { details } = event
  const named = {
    fields: (name: string) => known(fields, name, (field) => t(`fields.${field}`)),
    kinds: (name: string) => known(requestKinds, name, (one) => kind(one)),
  }
  const listOf = (group: 'fields' | 'kinds', value: unknown) => list(namesIn(value).map(named[group]))
  const until = textIn(details.until)
  return t.rich(`events.${eventTextOf(event)}`, {
    time: () => (until === '' ? '' : <Time at={until} />),
    erased: numberIn(details.erased),
    held: numberIn(details.held),
    grace: known(graces, textIn(details.grace), (grace) => t(`graces.${grace}`)),
    ground: known(refusalGrounds, textIn(details.ground), (ground) => t(`grounds.${ground}`)),
    kind: named.kinds(textIn(details.kind)),
    kinds: listOf('kinds', details.kinds),
    fields: listOf('fields', details.fields),
    event: event.event,
  })
}

/** The acts of a request, oldest first. Needs the messages `timeline` and `requests`. */
function RequestTimeline({ label, events }: { label: string; events: readonly ShownTimelineEvent[] }) {
  const t = useTranslations('timeline')
  const shown = timelineActs(events).map(
    // Events are only appended, so the index is a stable key.
    ({ event, others, tries, since }, index): TimelineEvent => ({
      key: `${since} ${index}`,
      at: event.at,
      title: tries > 1 ? t('tried', { tries }) : <EventWords event={event} />,
      by: t(`by.${event.by}`),
      tone: eventToneOf(event.event),
      children: (
        <>
          {tries > 1 && <p className="text-sm">{t.rich('firstTry', { time: () => <Time at={since} /> })}</p>}
          {numbered([event, ...others]).map(({ key, one }) => (
            <Fragment key={key}>
              {one !== event && (
                <p className="text-sm">
                  <EventWords event={one} />
                </p>
              )}
              {one.note !== null && (
                <blockquote className="border-l-2 border-edge pl-3 whitespace-pre-wrap wrap-anywhere">
                  {one.note}
                </blockquote>
              )}
            </Fragment>
          ))}
          {event.details.lifted === true && <p>{t('lifted')}</p>}
        </>
      ),
    }),
  )
  return <Timeline label={label} events={shown} />
}

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
