import type { Kind, RefusalGround } from './rules.ts'

/** One row of the timeline, as far as a letter says it. */
export interface Told {
  event: string
  at: Date
  note: string | null
  details: Readonly<Record<string, unknown>>
}
export interface LetterFacts {
  id: string
  kinds: readonly Kind[]
  isAgent: boolean
  /** The one agent that it is about; null where it is about a person, or pseudonymous. */
  agentId: string | null
  legalDueAt: Date
  waitingUntil: Date | null
  /** When its erasure would begin if it were confirmed now; null where none waits for that. */
  ifConfirmed: { at: Date; isAtOnce: boolean } | null
  /** An erasure whose grace runs, and that waits for a copy to be fetched or gone. */
  waitsForCopy: boolean
  /** The name goes from what others wrote in graphs, too. */
  redacts: boolean
  /** An erasure of it has begun. */
  hasBegun: boolean
  /** What was carried out of a request that is called off, and stays so. */
  stays: readonly Kind[]
  /** Set where the letter carries one; made for this letter alone. */
  links: { verify?: string; cancel?: string }
  receipt: string | undefined
  /** Where its person sees what waits; undefined once nobody is left who could sign in. */
  page: string | undefined
  /** An admin closed the account of whom it is about, or of its agent's owner: nobody signs in to it. */
  isClosed: boolean
  tokensStop: boolean
  signInStays: boolean
  /** Where questions about privacy go; null where the operator names nobody. */
  privacyEmail: string | null
}

/** What a letter says of one event. */
export interface Words {
  subject: string | ((facts: LetterFacts) => string)
  text: (told: Told, facts: LetterFacts) => string[]
}
const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
/** A time that stands in the details of an event. */
export const dateOf = (value: unknown): Date => new Date(textOf(value))
export const groundOf = (value: unknown): RefusalGround =>
  value === 'unfounded' || value === 'excessive' || value === 'identity' || value === 'legal_obligation'
    ? value
    : 'other'
