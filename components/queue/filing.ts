import type { Grace, RequestKind } from '#lib/domains/privacy-requests/rules.ts'

export const subjectsBy = ['email', 'account_id', 'agent_id'] as const
export type SubjectBy = (typeof subjectsBy)[number]

/** The form as typed. `received` is a local time without a time zone. */
export type QueueFilingDraft = {
  by: SubjectBy
  subject: string
  kinds: RequestKind[]
  received: string
  statement: string
  grace: Grace
  redact: boolean
}
export type QueueFilingFault = 'subject' | 'kinds' | 'copyOfAgent' | 'received' | 'statement'

/** The account id in an address; undefined if the text is not one. */
export const accountNamed = (text: string | string[] | undefined): string | undefined =>
  typeof text === 'string' && /^usr_[0-9A-Za-z]{22}$/.test(text) ? text : undefined

/** The moment in a date and time field; undefined if empty or invalid. */
export function localTime(text: string): Date | undefined {
  const at = new Date(text)
  return text === '' || Number.isNaN(at.getTime()) ? undefined : at
}

/** Missing or inconsistent fields, checked before sending. `most` is the greatest age of a request in milliseconds. */
export function faultsOf(draft: QueueFilingDraft, now: Date, most: number): Set<QueueFilingFault> {
  const { by, subject, kinds, received, statement } = draft
  const at = localTime(received)
  const faults = new Set<QueueFilingFault>()
  if (subject.trim() === '') faults.add('subject')
  if (kinds.length === 0) faults.add('kinds')
  if (by === 'agent_id' && kinds.includes('erasure') && (kinds.includes('access') || kinds.includes('portability')))
    faults.add('copyOfAgent')
  if (!at || at > now || now.getTime() - at.getTime() > most) faults.add('received')
  if (kinds.includes('rectification') && statement.trim() === '') faults.add('statement')
  return faults
}

/** The request body; undefined without a valid time of receipt. */
export function filingBody({ by, subject, kinds, received, statement, grace, redact }: QueueFilingDraft) {
  const at = localTime(received)
  const named = subject.trim()
  if (!at) return undefined
  return {
    kinds,
    received_at: at.toISOString(),
    ...(by === 'email' ? { email: named } : by === 'account_id' ? { account_id: named } : { agent_id: named }),
    ...(statement.trim() !== '' && { statement: statement.trim() }),
    ...(kinds.includes('erasure') && { grace }),
    ...(kinds.includes('erasure') && by !== 'agent_id' && redact && { redact }),
  }
}
