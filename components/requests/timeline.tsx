import { useTranslations } from 'next-intl'
import { Fragment } from 'react'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { Time } from '#components/ui/time.tsx'
import { Timeline, type TimelineEvent } from '#components/ui/timeline.tsx'
import { graces, refusalGrounds, requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import type { ShownTimelineEvent } from './request-rules.ts'
import { eventTextOf, eventToneOf, namesIn, numbered, numberIn, textIn, timelineActs } from './timeline-rules.ts'

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
export function RequestTimeline({ label, events }: { label: string; events: readonly ShownTimelineEvent[] }) {
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
