import type { Prisma } from '#generated/prisma/client.ts'
import { hasCopiesToFetch } from '../execution/execution.ts'
import type { PrivacyDeps } from '../ports.ts'
import { isUnconnected, type RequestRow, StateName, wasFullyRetained } from '../requests.ts'
import type { RefusalGround, RequestKind } from '../rules.ts'

/** One timeline entry, as far as an email contains it. */
export interface EmailTimelineEntry {
  event: string
  at: Date
  note: string | null
  details: Readonly<Record<string, unknown>>
}
export interface EmailFacts {
  id: string
  kinds: readonly RequestKind[]
  isAgent: boolean
  /** The single agent that the request is about; null for a person and for a pseudonymous request. */
  agentId: string | null
  legalDueAt: Date
  waitingUntil: Date | null
  /** When the erasure would begin if it were confirmed now; null when no erasure waits for confirmation. */
  ifConfirmed: { at: Date; isAtOnce: boolean } | null
  /** The grace period of an erasure is running, and the erasure waits for a copy. */
  waitsForCopy: boolean
  /** The name is also removed from texts of others in graphs. */
  redacts: boolean
  /** The request's erasure has begun. */
  hasBegun: boolean
  /** Kinds of a cancelled request that were carried out and remain in effect. */
  stays: readonly RequestKind[]
  /** Links that this email contains; they are created for this email only. */
  links: { verify?: string; cancel?: string }
  receipt: string | undefined
  /** The console page of the request; undefined when nobody remains who could sign in. */
  page: string | undefined
  /** The status page of a request from the form; undefined for requesters with a console. */
  statusPage: string | undefined
  /** The request concerns a participant of a project. */
  isParticipant: boolean
  /** The request came from the form and is not connected to an account or participant. */
  isUnconnected: boolean
  /** An admin closed the account of the subject or of the agent's owner, so nobody can sign in to it. */
  isClosed: boolean
  tokensStop: boolean
  signInStays: boolean
  /** Contact address for privacy questions; null when the operator names none. */
  privacyEmail: string | null
}

/** Subject and text of the email about one event. */
export interface EmailWords {
  subject: string | ((facts: EmailFacts) => string)
  text: (entry: EmailTimelineEntry, facts: EmailFacts) => string[]
}
const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
/** Parses a time in the details of an event. */
export const dateOf = (value: unknown): Date => new Date(textOf(value))
export const groundOf = (value: unknown): RefusalGround =>
  value === 'unfounded' || value === 'excessive' || value === 'identity' || value === 'legal_obligation'
    ? value
    : 'other'

/** Returns true when the organization, not this installation, delivers the requested copy. */
export const isHandedOver = ({ isParticipant, kinds }: Pick<EmailFacts, 'isParticipant' | 'kinds'>): boolean =>
  isParticipant && kinds.some((kind) => kind === 'access' || kind === 'portability')

/** Returns the message about the request's state in API responses. */
export function timelineTextFor(
  { graceTokens, graceSignIn }: Pick<PrivacyDeps, 'graceTokens' | 'graceSignIn'>,
  row: RequestRow,
): string {
  const until = row.waitingUntil?.toISOString() ?? ''
  const tokens =
    graceTokens === 'stop'
      ? 'Until then, the tokens of the agents do not work'
      : 'Until then, the tokens of the agents still work'
  const signIn = graceSignIn === 'keep' ? 'sign-in still works' : 'all sessions have ended'
  const person = row.subjectKind === 'person' ? `, and ${signIn}` : ''
  if (row.pausedAt) return 'This request and its deadlines are paused. The timeline states the reason.'
  switch (StateName.parse(row.state)) {
    case 'received':
      if (isUnconnected(row))
        return 'Received. The email address is confirmed. An admin connects the request to an account or participant, or answers it.'
      if (row.channel === 'form' && row.participantId !== null)
        return 'Received. An admin verifies the identity of the requester.'
      return row.contact === null
        ? 'Received. No email address is stored, so an admin verifies the identity of the requester.'
        : 'Received. We sent an email with a confirmation link to the stored address. The link works once and expires after ten minutes. Nothing happens before the confirmation.'
    case 'verified':
      return 'The identity of the requester is verified. Processing begins.'
    case 'waiting':
      if (row.subjectKind === 'participant')
        return `The erasure begins at ${until}. Until then the application can write on behalf of the participant. If you cancel the request before that time, nothing is erased.`
      return `The erasure begins at ${until}. ${tokens}${person}. If you cancel the request before that time, nothing is erased.${
        row.verifiedBy === 'token' && row.contact !== null
          ? ' The grace period is at least 24 hours, because the owner of the agent is notified by email and can also cancel the request.'
          : ''
      }${hasCopiesToFetch(row) ? ' It also waits until the requested copy is downloaded or expires.' : ''}`
    case 'running':
      return row.runId === null
        ? 'The identity of the requester is verified, and processing has begun.'
        : 'The erasure has begun and cannot be cancelled. The receipt is available once the erasure is verified.'
    case 'verifying':
      return 'The data is erased. Every store is searched again by ids and indexes before the receipt is signed.'
    case 'completed':
      return isUnconnected(row) ? 'Answered. Nothing was erased or changed.' : 'Done.'
    case 'partly_completed':
      return wasFullyRetained(row)
        ? 'Nothing was erased, because all of the data is under a legal hold. The account and its agents work as before. The erasure begins automatically when the hold ends.'
        : 'The data is erased, except for data under a legal hold. That data is erased automatically when the hold ends.'
    case 'cancelled':
      return row.parts.some(({ outcome }) => (outcome as Prisma.JsonObject).by === 'erasure')
        ? 'Closed, because this request is now part of a larger erasure, which has begun.'
        : `Cancelled. This request erased nothing.${row.parts.some(({ state }) => state === 'done') ? ' Completed parts remain in effect.' : ''}`
    case 'rejected':
      return 'Refused. The timeline states the reason and your legal remedies.'
    case 'failed':
      return row.runId === null
        ? 'Part of the request failed. No data was lost, and it will be retried.'
        : 'Part of the request failed. Data that is already erased stays erased, and the rest will be retried.'
  }
}
