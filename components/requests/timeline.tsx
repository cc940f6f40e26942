import { useTranslations } from 'next-intl'
import { Time } from '#components/ui/time.tsx'
import { graces, refusalGrounds, requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import type { ShownTimelineEvent } from './request-rules.ts'
import { eventTextOf, namesIn, numberIn, textIn } from './timeline-rules.ts'

const fields = ['name', 'email', 'locale'] as const
/** Translates a known name; returns any other name unchanged. */
function known<T extends string>(all: readonly T[], name: string, words: (found: T) => string): string {
  const found = all.find((one) => one === name)
  return found === undefined ? name : words(found)
}

/** An event in words. A value without a translation is shown as it is. */
function EventWords({ event }: { event: ShownTimelineEvent }) {
  const t = useTranslations('timeline')
  const { details } = event
  const named = {
    fields: (name: string) => known(fields, name, (field) => t(`fields.${field}`)),
    kinds: (name: string) => known(requestKinds, name, (kind) => t(`kinds.${kind}`)),
  }
  const list = (group: 'fields' | 'kinds', value: unknown) => namesIn(value).map(named[group]).join(', ')
  const until = textIn(details.until)
  return t.rich(`events.${eventTextOf(event)}`, {
    time: () => (until === '' ? '' : <Time at={until} />),
    erased: numberIn(details.erased),
    held: numberIn(details.held),
    grace: known(graces, textIn(details.grace), (grace) => t(`graces.${grace}`)),
    ground: known(refusalGrounds, textIn(details.ground), (ground) => t(`grounds.${ground}`)),
    kind: named.kinds(textIn(details.kind)),
    kinds: list('kinds', details.kinds),
    fields: list('fields', details.fields),
    event: event.event,
  })
}

/** The timeline of a request, oldest first. Needs the messages `timeline`. */
export function Timeline({ events }: { events: readonly ShownTimelineEvent[] }) {
  const t = useTranslations('timeline')
  // Events are only appended, so the index is a stable key.
  const told = events.map((event, place) => ({ event, key: `${event.at} ${place}` }))
  return (
    <ol className="grid gap-0 border-l border-line pl-5">
      {told.map(({ event, key }) => (
        <li key={key} className="relative grid gap-1 pb-5 last:pb-0">
          <span
            aria-hidden
            className="absolute top-1.5 -left-[1.5625rem] size-2.5 rounded-full border-2 border-paper bg-edge"
          />
          <p className="[overflow-wrap:anywhere]">
            <EventWords event={event} />
          </p>
          {event.note !== null && (
            <blockquote className="max-w-prose border-l-2 border-edge pl-3 whitespace-pre-wrap [overflow-wrap:anywhere]">
              {event.note}
            </blockquote>
          )}
          {event.details.lifted === true && <p>{t('lifted')}</p>}
          <p className="text-sm text-quiet">
            <Time at={event.at} /> · {t(`by.${event.by}`)}
          </p>
        </li>
      ))}
    </ol>
  )
}
