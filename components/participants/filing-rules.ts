import type { RequestInput } from '#lib/client/request.ts'
import type { fileForParticipant } from '#lib/domains/privacy-requests/contract.ts'
import type { Grace, RequestKind } from '#lib/domains/privacy-requests/rules.ts'
import type { Participant } from './endpoints.ts'

export type ParticipantFilingDraft = { kind: RequestKind; grace: Grace; name: string; email: string; statement: string }
export type ParticipantFilingFault = 'changes' | 'email' | 'statement'
type ParticipantFacts = Pick<Participant, 'name' | 'email' | 'claimed'>
type Body = NonNullable<RequestInput<typeof fileForParticipant>['body']>

/** The kinds whose request can contain a statement. */
export const hasStatement = (kind: RequestKind): boolean => kind === 'rectification' || kind === 'objection'
const isAddress = (text: string): boolean => /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/.test(text)

/** The fields of a correction that differ from the stored values. A person who claimed the participation corrects their account. */
function changesOf({ name, email }: ParticipantFilingDraft, known: ParticipantFacts) {
  if (known.claimed) return {}
  const [newName, newEmail] = [name.trim(), email.trim().toLowerCase()]
  return {
    ...(newName !== '' && newName !== known.name && { name: newName }),
    ...(newEmail !== '' && newEmail !== known.email && { email: newEmail }),
  }
}

/** The request body, or the field that prevents filing. */
export function filingOf(
  draft: ParticipantFilingDraft,
  known: ParticipantFacts,
): { body: Body } | { fault: ParticipantFilingFault } {
  const { kind, grace } = draft
  const statement = hasStatement(kind) ? draft.statement.trim() : ''
  const words = statement === '' ? {} : { statement }
  if (kind === 'erasure') return { body: { kinds: [kind], grace } }
  if (kind !== 'rectification') return { body: { kinds: [kind], ...words } }
  const changes = changesOf(draft, known)
  if ('email' in changes && !isAddress(changes.email)) return { fault: 'email' }
  const isChange = Object.keys(changes).length > 0
  if (!isChange && statement === '') return { fault: known.claimed ? 'statement' : 'changes' }
  return { body: { kinds: [kind], ...(isChange && { changes }), ...words } }
}
