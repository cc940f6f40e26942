import type { RefusalGround, RequestKind } from '#lib/domains/privacy-requests/rules.ts'

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
