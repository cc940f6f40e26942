import { type BadgeTone, statusTones } from '#components/ui/badge.tsx'
import type { RequestState } from '#lib/domains/privacy-requests/rules.ts'

const statuses = {
  received: 'verifying',
  verified: 'received',
  waiting: 'grace',
  running: 'in_progress',
  verifying: 'in_progress',
  completed: 'completed',
  partly_completed: 'partly_completed',
  cancelled: 'cancelled',
  rejected: 'refused',
  failed: 'failed',
} as const satisfies Record<RequestState, keyof typeof statusTones>

/** The tone of a request's state on the scale of all statuses. */
export const stateTone = (state: RequestState): BadgeTone => statusTones[statuses[state]]
