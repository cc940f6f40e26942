import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { type RequestRow, requestSubjectOf } from '#lib/domains/privacy-requests/requests.ts'
import type { RequestWork } from '#lib/domains/privacy-requests/timeline.ts'

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
