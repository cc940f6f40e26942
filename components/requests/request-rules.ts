import type { RequestView } from '#lib/domains/privacy-requests/contract.ts'
import type { RunDetail } from '#lib/domains/privacy-requests/erasures/contract.ts'
import { isClosed } from '#lib/domains/privacy-requests/rules.ts'

/** One entry of a timeline, as the API returns it. */
export interface ShownTimelineEvent {
  at: string
  by: 'subject' | 'manager' | 'admin' | 'system'
  event: string
  details: Record<string, string | number | boolean | null>
  note: string | null
}
export type RequestPart = RequestView['parts'][number]
type RequestStatus = Pick<RequestView, 'state' | 'kinds' | 'subject' | 'parts' | 'paused' | 'waiting_until'>

const partOf = ({ parts }: Pick<RequestView, 'parts'>, kind: RequestPart['kind']): RequestPart | undefined =>
  parts.find((part) => part.kind === kind)
const hasErasure = ({ kinds }: Pick<RequestView, 'kinds'>): boolean => kinds.includes('erasure')

/** A legal hold retains everything: nothing was erased and there is no receipt. */
const isKeptWhole = (request: Pick<RequestView, 'state' | 'parts'>): boolean =>
  request.state === 'partly_completed' && partOf(request, 'erasure')?.outcome.nothing_erased === true

/** A correction waits until the new email address is confirmed. */
export const isWaitingForAddress = (request: Pick<RequestView, 'parts'>): boolean =>
  partOf(request, 'rectification')?.state === 'running' &&
  partOf(request, 'rectification')?.outcome.waits_for === 'address'

/** A copy was requested with the erasure and is neither downloaded nor deleted. */
export const waitsForCopy = ({ parts }: Pick<RequestView, 'parts'>): boolean =>
  parts.some(({ outcome }) => outcome.export_id !== undefined && outcome.copy !== 'fetched' && outcome.copy !== 'gone')

/** The id of the signed receipt. The id is reserved much earlier, so its presence does not prove an erasure. */
export const signedReceiptOf = ({ state, receipt_id, parts }: Pick<RequestView, 'state' | 'receipt_id' | 'parts'>) =>
  (state === 'completed' || state === 'partly_completed') &&
  !isKeptWhole({ state, parts }) &&
  typeof partOf({ parts }, 'erasure')?.outcome.receipt_id === 'string'
    ? receipt_id
    : null

function saidWaiting(request: RequestStatus, timeline: readonly ShownTimelineEvent[], now: Date) {
  const whom = request.subject === 'agent' ? 'Agent' : 'Person'
  if (request.waiting_until !== null && Date.parse(request.waiting_until) > now.getTime())
    return `waiting${whom}` as const
  if (timeline.some(({ event }) => event === 'blocked')) return 'blocked'
  return waitsForCopy(request) ? 'copyFirst' : (`due${whom}` as const)
}
function saidClosed(request: RequestStatus, timeline: readonly ShownTimelineEvent[]) {
  const last = timeline.findLast(({ event }) => event === request.state || event === 'expired')
  const isMoot = last?.details.by === 'erasure'
  switch (request.state) {
    case 'completed':
      return isMoot ? 'moot' : hasErasure(request) ? 'erased' : 'completed'
    case 'cancelled':
      if (last?.event === 'expired') return 'expired'
      if (isMoot) return 'moot'
      if (typeof last?.details.request_id === 'string') return 'taken'
      return hasErasure(request) ? 'cancelledErasure' : 'cancelled'
    default:
      return 'rejected'
  }
}

/** The message key of the sentence that describes the state of a request. */
export function requestSayingOf(request: RequestStatus, timeline: readonly ShownTimelineEvent[], now: Date) {
  const whom = request.subject === 'agent' ? 'Agent' : 'Person'
  if (isClosed(request.state)) return saidClosed(request, timeline)
  if (request.paused !== null) return 'paused'
  const erasure = partOf(request, 'erasure')?.state
  const isErasing = hasErasure(request) && erasure !== 'pending'
  switch (request.state) {
    case 'waiting':
      return saidWaiting(request, timeline, now)
    case 'running':
      if (isErasing) return `erasing${whom}` as const
      return isWaitingForAddress(request) ? 'address' : 'running'
    case 'verifying':
      return `verifying${whom}` as const
    case 'partly_completed':
      if (!hasErasure(request)) return 'partlyOther'
      return isKeptWhole(request) ? 'keptWhole' : 'partly'
    case 'failed':
      if (isErasing) return erasure === 'failed' ? 'failedErasure' : (`erasing${whom}` as const)
      return 'failed'
    default:
      return request.state === 'verified' ? 'verified' : 'received'
  }
}
export type RequestSaying = ReturnType<typeof requestSayingOf>

/** The message key of the explanation below that sentence, if there is one. */
export function leadOf(saying: RequestSaying) {
  if (saying === 'received' || saying === 'blocked' || saying === 'paused' || saying === 'rejected') return saying
  if (saying === 'partly' || saying === 'keptWhole') return saying
  if (saying === 'waitingPerson' || saying === 'waitingAgent') return 'waiting'
  if (saying === 'erasingPerson' || saying === 'erasingAgent') return 'erasing'
  if (saying === 'verifyingPerson' || saying === 'verifyingAgent') return 'verifying'
  return saying === 'failed' || saying === 'failedErasure' ? 'failed' : undefined
}

/** Milliseconds until the next poll: short while an erasure runs, long while a person or a date comes next. */
export function requestPollInterval(
  request: Pick<RequestView, 'state'>,
  run: { state: string } | null,
): number | false {
  if (isClosed(request.state)) return false
  if (run && ['planning', 'erasing', 'verifying'].includes(run.state)) return 3_000
  return request.state === 'running' || request.state === 'verifying' ? 10_000 : 60_000
}

/** Whether the person can retry the request: a part failed, or a step of its erasure is stuck or waits for a store. */
export const isRetryable = ({
  for_member,
  closed_at,
  parts,
  erasure,
}: Pick<RequestView, 'for_member' | 'closed_at' | 'parts'> & {
  erasure: Pick<RunDetail, 'state' | 'steps' | 'waits_for'> | null
}): boolean =>
  !for_member &&
  closed_at === null &&
  (parts.some(({ state }) => state === 'failed') ||
    (erasure !== null && erasure.state !== 'done' && erasure.waits_for.length > 0) ||
    (erasure?.steps.some(({ state }) => state === 'stuck') ?? false))
