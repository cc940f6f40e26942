import {
  type Clocks,
  type ExtensionFault,
  extendedDeadline,
  isCancellable,
  isClosed,
} from '#lib/domains/privacy-requests/rules.ts'
import type { AdminRequest, AdminRequestDetail } from './endpoints.ts'

/** The actions that an admin can apply to many requests, with their keys and message keys. */
export const bulkActs = [
  { act: 'assign', key: 'a', label: 'assignMe' },
  { act: 'expedite', key: 'e', label: 'expedite' },
  { act: 'pause', key: 'p', label: 'pause' },
  { act: 'resume', key: 'u', label: 'resume' },
  { act: 'retry', key: 't', label: 'retry' },
  { act: 'comment', key: 'c', label: 'comment' },
] as const
export type BulkAct = (typeof bulkActs)[number]['act']
export const labelOf = (act: BulkAct) => (act === 'assign' ? 'assignMe' : act)
/** Actions that ask for a text first. */
export const wordedActs = ['expedite', 'pause', 'comment'] as const satisfies readonly BulkAct[]
export type WordedAct = (typeof wordedActs)[number]
export const isWorded = (act: BulkAct): act is WordedAct => wordedActs.some((worded) => worded === act)

export const acts = [
  'answer',
  'verify',
  'complete',
  'retry',
  'resume',
  'expedite',
  'pause',
  'extend',
  'refuse',
  'assign',
  'comment',
] as const
export type QueueAct = (typeof acts)[number]

type ActableRequest = Pick<
  AdminRequest,
  'state' | 'parts' | 'paused' | 'extended' | 'account_id' | 'agent_id' | 'participant_id' | 'subject'
>
const handKinds = ['rectification', 'objection'] as const
export type HandKind = (typeof handKinds)[number]

/** Running parts that need a decision or manual work by an admin. */
export const partsByHand = ({ parts }: Pick<ActableRequest, 'parts'>): HandKind[] =>
  handKinds.filter((kind) => parts.some((part) => part.kind === kind && part.state === 'running'))

/**
 * The actions that apply to a request in its current state, in display order. The state may have changed since: the server then answers
 * `wrong_state`.
 */
export function actsOf(request: ActableRequest, erasure?: AdminRequestDetail['erasure']): QueueAct[] {
  const { state, parts, paused, account_id, agent_id, participant_id, subject } = request
  const isOver = isClosed(state)
  const isEarly = isCancellable(state)
  const isUnconnected = subject === 'requester'
  const isPseudonymous =
    account_id === null && agent_id === null && participant_id === null && !(isUnconnected && !isOver)
  const isSettled = isOver || state === 'partly_completed'
  const applies: Record<QueueAct, boolean> = {
    answer: isUnconnected && state === 'received',
    verify: state === 'received' && !isUnconnected,
    complete: partsByHand(request).length > 0,
    retry:
      !isOver &&
      (parts.some((part) => part.state === 'failed') ||
        erasure?.state === 'failed' ||
        (erasure?.steps.some((step) => step.state === 'stuck') ?? false)),
    resume: paused !== null && !isOver,
    expedite: state === 'waiting' && paused === null,
    pause: isEarly && paused === null,
    extend: !isSettled && !request.extended && !isPseudonymous,
    refuse: isEarly || (!isOver && partsByHand(request).length > 0),
    assign: !(isOver && isPseudonymous),
    comment: !isPseudonymous,
  }
  return acts.filter((act) => applies[act])
}

/** The clocks for the extension rules. The due dates already include past pauses. */
const clocksOf = (request: AdminRequest): Clocks => ({
  state: request.state,
  receivedAt: new Date(request.received_at),
  legalDueAt: new Date(request.legal_due_at),
  dueAt: request.due_at === null ? null : new Date(request.due_at),
  pausedAt: null,
  // The rules only check whether it was extended, not when.
  extendedAt: request.extended ? new Date(request.received_at) : null,
})
/** The legal due date after an extension by `days`, or why it is not allowed. */
export const extendedBy = (request: AdminRequest, days: number, now: Date): Date | ExtensionFault =>
  extendedDeadline(clocksOf(request), days, now)

/** The longest extension in days that the law allows; 0 if none. GDPR art. 12(3) allows two months. */
export function longestExtension(request: AdminRequest, now: Date): number {
  for (let days = 62; days > 0; days--) if (extendedBy(request, days, now) instanceof Date) return days
  return 0
}
