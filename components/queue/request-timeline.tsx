'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, Fragment } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { numbered, type TimelineAct, timelineActs } from '#components/requests/timeline-rules.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { Time } from '#components/ui/time.tsx'
import { Timeline, type TimelineEvent } from '#components/ui/timeline.tsx'
import { type AdminRequestDetail, type AdminTimelineEvent, commentAt, requestPaths } from './endpoints.ts'
import { StateProblem } from './state-problem.tsx'
import { eventName, isNewestAssignment } from './timeline-events.ts'
import { WordsField } from './words-field.tsx'

function CommentForm({ request }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.comment')
  const common = useTranslations('common')
  const { draft, change: type, clear } = useDraft(`request:${request.id}:comment`, { text: '' })
  const change = useApiMutation(commentAt, { touches: requestPaths })
  const isEmpty = draft.text.trim() === ''
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isEmpty) change.begin({ params: { id: request.id }, body: { note: draft.text } }, clear)
  }
  return (
    <form onSubmit={submit} className="grid gap-3">
      <StateProblem problem={change.problem} act="comment" request={request} />
      <WordsField
        data-comment=""
        label={t('label')}
        hint={t('hint')}
        value={draft.text}
        change={(text) => type({ text })}
      />
      <Button type="submit" tone="plain" className="justify-self-start" aria-disabled={isEmpty || change.isPending}>
        {change.isPending ? common('busy') : t('submit')}
      </Button>
    </form>
  )
}

const tones: Partial<Record<string, NonNullable<TimelineEvent['tone']>>> = {
  completed: 'success',
  failed: 'danger',
  overdue: 'danger',
  paused: 'warning',
  blocked: 'warning',
  doubted: 'warning',
  nearly_due: 'warning',
  running: 'progress',
}

/** The acts of a request, oldest first, each in one sentence with names. What only admins can read is marked. */
export function RequestTimeline({ request, canComment }: { request: AdminRequestDetail; canComment: boolean }) {
  const t = useTranslations('adminRequest')
  const states = useTranslations('requestNames.states')
  const sentenceOf = (event: AdminTimelineEvent): string => {
    const name = eventName(event, request.received_at)
    const { days, due } = event.details
    const clock = due === request.due_at ? 'internal' : due === request.legal_due_at ? 'legal' : 'other'
    const who = event.by_name ?? t(`timeline.by.${event.by}`)
    const assignee = isNewestAssignment(event, request.timeline) ? request.assigned_name : null
    return name
      ? t(`timeline.events.${name}`, {
          who,
          by: event.by,
          clock,
          days: Number(days ?? 0),
          named: assignee === null ? 'no' : 'yes',
          name: assignee ?? '',
        })
      : t('timeline.other', { who, event: event.event })
  }
  const shown = ({ event, others, tries, since }: TimelineAct<AdminTimelineEvent>, index: number): TimelineEvent => {
    const together = [event, ...others]
    const tone = together.map((one) => tones[one.event]).find(Boolean)
    const [from, to] = [
      together.find((one) => one.from !== null)?.from,
      together.findLast((one) => one.to !== null)?.to,
    ]
    return {
      // Events are only appended, so the index is a stable key.
      key: `${since} ${index}`,
      at: event.at,
      ...(tone && { tone }),
      title: (
        <span data-event={event.event} className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
          <span className="font-medium">{tries > 1 ? t('timeline.tried', { tries }) : sentenceOf(event)}</span>
          {event.internal && <Badge tone="warning">{t('timeline.internal')}</Badge>}
          {from && to && tries < 2 && (
            <span className="text-sm text-quiet">{t('timeline.to', { from: states(from), to: states(to) })}</span>
          )}
        </span>
      ),
      children: (
        <>
          {tries > 1 && <p className="text-sm">{t.rich('timeline.firstTry', { time: () => <Time at={since} /> })}</p>}
          {numbered(together).map(({ key, one }) => (
            <Fragment key={key}>
              {one !== event && <p className="text-sm">{sentenceOf(one)}</p>}
              {one.note && (
                <p dir="auto" className="whitespace-pre-wrap wrap-anywhere text-ink">
                  {one.note}
                </p>
              )}
            </Fragment>
          ))}
        </>
      ),
    }
  }
  return (
    <div className="grid gap-5">
      <Timeline label={t('timeline.title')} events={timelineActs(request.timeline).map(shown)} />
      {canComment ? <CommentForm request={request} /> : <p className="text-sm text-quiet">{t('comment.none')}</p>}
    </div>
  )
}
