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
  legalDueAt: Date
  waitingUntil: Date | null
  /** Set where the letter carries one; made for this letter alone. */
  links: { verify?: string; address?: string; cancel?: string }
  receipt: string | undefined
  /** Where the request and its timeline are seen; undefined once nobody is left who could. */
  page: string | undefined
  tokensStop: boolean
  signInStays: boolean
}

/** What a letter says of one event. */
export interface Words {
  subject: string
  text: (told: Told, facts: LetterFacts) => string[]
}
const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
/** A time that stands in the details of an event. */
export const dateOf = (value: unknown): Date => new Date(textOf(value))
export const groundOf = (value: unknown): RefusalGround =>
  value === 'unfounded' || value === 'excessive' || value === 'identity' || value === 'legal_obligation'
    ? value
    : 'other'
