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
  return ['partly_completed', 'blocked', 'paused', 'rejected', 'extended'].includes(event) ? 'warning' : 'neutral'
}
