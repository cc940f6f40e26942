import type { Prisma } from '#generated/prisma/client.ts'
import type { PrivacyDeps } from '../ports.ts'
import {
  PartStateName,
  type RequestPartRow,
  type RequestRow,
  requestPartOf,
  requestSubjectOf,
  StateName,
} from '../requests.ts'
import { isClosed, type PartState, type RequestKind, stateOfParts } from '../rules.ts'
import { change, type RequestWork } from '../timeline.ts'

type PartOutcome = Record<string, string | number | boolean | null>
/** Returns true when the part needs no more work. A failed part can be retried. */
export const isPartOver = (state: PartState): boolean => state !== 'pending' && state !== 'running'

/** Sets the state of a part, and merges the outcome into the earlier one. Returns the updated request. */
export async function setPart(
  work: RequestWork,
  row: RequestRow,
  kind: RequestKind,
  state: PartState,
  outcome: PartOutcome = {},
): Promise<RequestRow> {
  const before = requestPartOf(row, kind)
  if (!before) return row
  const after: RequestPartRow = await work.tx.privacyRequestPart.update({
    where: { requestId_kind: { requestId: row.id, kind } },
    data: {
      state,
      startedAt: before.startedAt ?? work.now,
      finishedAt: isPartOver(state) ? work.now : null,
      outcome: { ...(before.outcome as Prisma.JsonObject), ...outcome },
    },
  })
  return { ...row, parts: row.parts.map((part) => (part.kind === kind ? after : part)) }
}

/**
 * Sets the state of a request from the states of its parts, once its work has begun. A closed request stays closed,
 * whatever happens to its copies.
 */
export async function conclude(work: RequestWork, row: RequestRow, details: PartOutcome = {}): Promise<RequestRow> {
  const from = StateName.parse(row.state)
  if (from === 'waiting' || from === 'verified' || from === 'received' || isClosed(from)) return row
  const to = stateOfParts(row.parts.map((part) => PartStateName.parse(part.state)))
  if (to === from || (to === 'running' && from === 'verifying')) return row
  return change(work, row, { event: to, to, details, by: to === 'rejected' ? 'admin' : 'system' })
}

type Reason = 'request' | 'objection'

/** Restricts the subject of the request: an account with its agents, an agent, or a participant of a project. */
export async function restrictSubject(
  { agents, participants }: PrivacyDeps,
  { tx, now }: RequestWork,
  row: RequestRow,
  reason: Reason,
): Promise<void> {
  const subject = await requestSubjectOf(tx, row, agents)
  await agents.restrict(tx, subject, reason, now)
  await participants.restrict(tx, subject.participants ?? [], reason, now)
}
/** Lifts a restriction with this reason; restrictions for other reasons stay. */
export async function unrestrictSubject(
  { agents, participants }: PrivacyDeps,
  { tx, now }: RequestWork,
  row: RequestRow,
  reason: Reason,
): Promise<void> {
  const subject = await requestSubjectOf(tx, row, agents)
  await agents.unrestrict(tx, subject, reason, now)
  await participants.unrestrict(tx, subject.participants ?? [], reason)
}
