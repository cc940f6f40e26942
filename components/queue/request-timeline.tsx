'use client'

import { useTranslations } from 'next-intl'
import type { FormEvent } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Button } from '#components/ui/button.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { Time } from '#components/ui/time.tsx'
import { type AdminRequestDetail, type AdminTimelineEvent, commentAt, requestPaths } from './endpoints.ts'
import { StateProblem } from './state-problem.tsx'
import { eventName } from './timeline-events.ts'
import { WordsField } from './words-field.tsx'

function EventRow({ event }: { event: AdminTimelineEvent }) {
  const t = useTranslations('adminRequest.timeline')
  const queue = useTranslations('queue.states')
  const name = eventName(event)
  return (
    <li data-event={event.event} className="grid gap-1 border-l-2 border-line py-2 pl-4">
      <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <span className="font-medium">
          {name ? t(`events.${name}`, { days: Number(event.details.days ?? 0) }) : event.event}
        </span>
        {event.internal && <Tag tone="amber">{t('internal')}</Tag>}
        {event.from && event.to && (
          <span className="text-sm text-quiet">{t('to', { from: queue(event.from), to: queue(event.to) })}</span>
        )}
      </p>
      {event.note && (
        <p dir="auto" className="whitespace-pre-wrap [overflow-wrap:anywhere]">
          {event.note}
        </p>
      )}
      <p className="text-sm text-quiet">
        <Time at={event.at} /> · {t(`by.${event.by}`)}
      </p>
    </li>
  )
}

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

/** All events, oldest first. Events that only admins can read are marked. */
export function RequestTimeline({ request, canComment }: { request: AdminRequestDetail; canComment: boolean }) {
  const t = useTranslations('adminRequest')
  return (
    <div className="grid gap-5">
      <ol aria-label={t('timeline.title')} className="grid">
        {keyed(request.timeline).map(({ key, event }) => (
          <EventRow key={key} event={event} />
        ))}
      </ol>
      {canComment ? <CommentForm request={request} /> : <p className="text-sm text-quiet">{t('comment.none')}</p>}
    </div>
  )
}
