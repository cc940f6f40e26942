'use client'

import { useTranslations } from 'next-intl'
import type { FormEvent } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { Timeline, type TimelineEvent } from '#components/ui/timeline.tsx'
import { type AdminRequestDetail, type AdminTimelineEvent, commentAt, requestPaths } from './endpoints.ts'
import { StateProblem } from './state-problem.tsx'
import { eventName } from './timeline-events.ts'
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

/** Events have no id: number those with the same time and kind. */
function keyed(events: readonly AdminTimelineEvent[]) {
  const seen = new Map<string, number>()
  return events.map((event) => {
    const name = `${event.at} ${event.event}`
    const nth = (seen.get(name) ?? 0) + 1
    seen.set(name, nth)
    return { key: `${name} ${nth}`, event }
  })
}

const tones: Partial<Record<string, NonNullable<TimelineEvent['tone']>>> = {
  completed: 'success',
  failed: 'danger',
  overdue: 'danger',
  paused: 'warning',
  blocked: 'warning',
  nearly_due: 'warning',
  running: 'progress',
}

/** All events, oldest first. Events that only admins can read are marked. */
export function RequestTimeline({ request, canComment }: { request: AdminRequestDetail; canComment: boolean }) {
  const t = useTranslations('adminRequest')
  const states = useTranslations('requestNames.states')
  const shown = ({ key, event }: ReturnType<typeof keyed>[number]): TimelineEvent => {
    const name = eventName(event, request.received_at)
    const tone = tones[event.event]
    const isOfState = event.from !== null && event.to !== null
    return {
      key,
      at: event.at,
      ...(tone && { tone }),
      by: event.by_name ?? t(`timeline.by.${event.by}`),
      title: (
        <span data-event={event.event} className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
          <span className="font-medium">
            {name ? t(`timeline.events.${name}`, { days: Number(event.details.days ?? 0) }) : event.event}
          </span>
          {event.internal && <Badge tone="warning">{t('timeline.internal')}</Badge>}
          {isOfState && (
            <span className="text-sm text-quiet">
              {t('timeline.to', { from: states(event.from ?? 'received'), to: states(event.to ?? 'received') })}
            </span>
          )}
        </span>
      ),
      children: event.note && (
        <p dir="auto" className="whitespace-pre-wrap wrap-anywhere text-ink">
          {event.note}
        </p>
      ),
    }
  }
  return (
    <div className="grid gap-5">
      <Timeline label={t('timeline.title')} events={keyed(request.timeline).map(shown)} />
      {canComment ? <CommentForm request={request} /> : <p className="text-sm text-quiet">{t('comment.none')}</p>}
    </div>
  )
}
