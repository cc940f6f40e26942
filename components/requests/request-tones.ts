import { type BadgeTone, statusTones } from '#components/ui/badge.tsx'
import type { RequestView } from '#lib/domains/privacy-requests/contract.ts'

/** The badge tone of each request state. */
export const requestTones: Record<RequestView['state'], BadgeTone> = {
  received: statusTones.verifying,
  verified: statusTones.received,
  waiting: statusTones.grace,
  running: statusTones.in_progress,
  verifying: statusTones.in_progress,
  completed: statusTones.completed,
  partly_completed: statusTones.partly_completed,
  cancelled: statusTones.cancelled,
  rejected: statusTones.refused,
  failed: statusTones.failed,
}
export const partTones: Record<RequestView['parts'][number]['state'], BadgeTone> = {
  pending: 'neutral',
  running: statusTones.in_progress,
  done: statusTones.completed,
  partly_done: statusTones.partly_completed,
  refused: statusTones.refused,
  cancelled: statusTones.cancelled,
  failed: statusTones.failed,
}
