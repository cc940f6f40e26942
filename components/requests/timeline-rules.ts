import type { ShownTimelineEvent } from './request-rules.ts'

const proofs = ['password', 'link', 'token', 'admin'] as const
/** Events whose text does not depend on their details. */
const plain = [
  'reminded',
  'kept_whole',
  'expired',
  'rejected',
  'part_refused',
  'part_done',
  'failed',
  'extended',
  'paused',
  'resumed',
  'blocked',
  'doubted',
  'rectified',
  'address_asked',
  'address_moved',
  'copy_ready',
  'copy_fetched',
  'copy_gone',
  'copy_failed',
  'retried',
  'taken_over',
  'answered',
  'form_joined',
] as const

/** The message key of an event; `other` for an unknown event. */
export function eventTextOf({ event, by, details }: Pick<ShownTimelineEvent, 'event' | 'by' | 'details'>) {
  switch (event) {
    case 'received':
      return `received_${by}` as const
    case 'added_to':
      return details.grace === undefined ? 'added' : 'added_grace'
    case 'link_sent':
      if (details.purpose === 'verify') return 'link_verify'
      return details.purpose === 'address' ? 'link_address' : 'link_other'
    case 'verified': {
      const proof = proofs.find((one) => one === details.by)
      return proof ? (`verified_${proof}` as const) : 'verified'
    }
    case 'waiting':
      if (details.shortened === true) return 'waiting_shortened'
      return details.by === 'token' ? 'waiting_token' : 'waiting'
    case 'expedited':
      if (details.copies === 'wait') return 'expedited_wait'
      return details.copies === 'dropped' ? 'expedited_dropped' : 'expedited'
    case 'running':
      return details.run_id === undefined ? 'running' : 'running_erasure'
    case 'verifying':
      return 'verifying'
    case 'completed':
      if (details.by === 'erasure') return 'completed_moot'
      return details.receipt_id === undefined ? 'completed' : 'completed_erasure'
    case 'partly_completed':
      return details.nothing_erased === true ? 'kept_whole' : 'partly'
    case 'cancelled':
      if (details.by === 'erasure') return 'cancelled_moot'
      return details.request_id === undefined ? 'cancelled' : 'cancelled_taken'
    default:
      return plain.find((one) => one === event) ?? 'other'
  }
}

export const textIn = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''
export const numberIn = (value: unknown): number => (typeof value === 'number' ? value : 0)
/** Splits a comma-separated list of names. */
export const namesIn = (value: unknown): string[] => textIn(value).split(',').filter(Boolean)

/** The color of an event: what is finished, what needs attention, and what failed. */
export function eventToneOf(event: string): 'neutral' | 'success' | 'warning' | 'danger' {
  if (event === 'completed') return 'success'
  if (event === 'failed' || event === 'copy_failed') return 'danger'
  return ['partly_completed', 'blocked', 'doubted', 'paused', 'rejected', 'extended'].includes(event)
    ? 'warning'
    : 'neutral'
}

/** What a timeline shows as one act. */
export interface TimelineAct<Event> {
  event: Event
  /** Other events of the same transaction. */
  others: Event[]
  /** The number of failed attempts that this act stands for. */
  tries: number
  /** The time of the first of these attempts. */
  since: string
}
/** Events that accompany another one in the same transaction. */
const accompanying = ['link_sent', 'status_link', 'evidence', 'running', 'completed', 'retried']
const failures = ['failed', 'copy_failed']
const retries = [...failures, 'running', 'retried']

/**
 * Events, oldest first, as acts: a transaction writes all its events with one time, and they are one act. Failed attempts that the system
 * repeats without any other event between them are one act at the time of the latest failure.
 */
export function timelineActs<Event extends Pick<ShownTimelineEvent, 'at' | 'event' | 'by'>>(
  events: readonly Event[],
): TimelineAct<Event>[] {
  const acts: TimelineAct<Event>[] = []
  for (const together of Map.groupBy(events, ({ at }) => at).values()) {
    const event = together.find((one) => !accompanying.includes(one.event)) ?? together[0]
    if (!event) continue
    const isAttempt = together.every((one) => one.by === 'system' && retries.includes(one.event))
    const failed = isAttempt ? together.find((one) => failures.includes(one.event)) : undefined
    const last = acts.at(-1)
    if (isAttempt && last && last.tries > 0) {
      if (failed) Object.assign(last, { event: failed, tries: last.tries + 1 })
      continue
    }
    acts.push({
      event: failed ?? event,
      others: together.filter((one) => one !== (failed ?? event)),
      tries: failed ? 1 : 0,
      since: event.at,
    })
  }
  return acts
}

/** With keys: events have no id. */
export const numbered = <Event extends { event: string }>(events: readonly Event[]) =>
  events.map((one, index) => ({ key: `${index} ${one.event}`, one }))
