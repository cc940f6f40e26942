/** Timeline events that have a translation. */
const events = [
  'received',
  'recorded',
  'link_sent',
  'verified',
  'waiting',
  'reminded',
  'running',
  'verifying',
  'completed',
  'partly_completed',
  'kept_whole',
  'cancelled',
  'rejected',
  'failed',
  'expedited',
  'paused',
  'resumed',
  'extended',
  'retried',
  'assigned',
  'unassigned',
  'comment',
  'evidence',
  'part_refused',
  'part_done',
  'rectified',
  'address_asked',
  'address_moved',
  'added_to',
  'taken_over',
  'blocked',
  'doubted',
  'expired',
  'nearly_due',
  'overdue',
  'copy_ready',
  'copy_fetched',
  'copy_gone',
  'copy_failed',
  'connected',
  'disconnected',
  'answered',
  'form_joined',
  'status_link',
] as const
export type TimelineEventName = (typeof events)[number]

interface TimelineEntry {
  event: string
  at: string
  details: Readonly<Record<string, string | number | boolean | null>>
}
const isAssignment = ({ event, details }: Pick<TimelineEntry, 'event' | 'details'>): boolean =>
  event === 'assigned' && details.assigned !== false
/** Whether this event made the current assignee: events have no assignee of their own. */
export const isNewestAssignment = <Entry extends Pick<TimelineEntry, 'event' | 'details'>>(
  entry: Entry,
  timeline: readonly Entry[],
): boolean => isAssignment(entry) && timeline.findLast(({ event }) => event === 'assigned') === entry
/**
 * The message key of an event; undefined if it has no translation. A request that was entered after its receipt, or takes over the receipt
 * of an earlier one, was only recorded at the time of its first event.
 */
export function eventName({ event, at, details }: TimelineEntry, receivedAt: string): TimelineEventName | undefined {
  if (event === 'assigned' && details.assigned === false) return 'unassigned'
  if (event === 'received' && Math.abs(Date.parse(at) - Date.parse(receivedAt)) >= 60_000) return 'recorded'
  return events.find((name) => name === event)
}
