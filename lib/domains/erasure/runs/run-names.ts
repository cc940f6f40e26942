import type { ErasureScope, RecordScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { ErasedKind, Receipt, SubjectKind } from '#lib/kernel/receipt.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'

const subjectNameOf = ({ account, agents, participants = [] }: Subject): string =>
  account ?? agents[0] ?? participants[0] ?? 'nobody'
/** Returns the id of a unit or skill. */
export const recordIdOf = (scope: RecordScope): string => ('unit' in scope ? scope.unit : scope.skill)
/** Returns the scope of an erased unit or skill. */
export const recordScopeOf = (id: string): RecordScope => (id.startsWith('kp:skill:') ? { skill: id } : { unit: id })

/** Returns the id of the subject, part or record of a scope, for receipts and logs. */
export function scopeNameOf(scope: ErasureScope): string {
  if ('subject' in scope) return subjectNameOf(scope.subject)
  return 'part' in scope ? scope.part.id : recordIdOf(scope)
}
function subjectKindOf({ account, agents, participants = [] }: Subject): SubjectKind {
  if (account !== null) return 'account'
  return agents.length === 0 && participants.length > 0 ? 'participant' : 'agent'
}
/** Returns the kind of the id that {@link scopeNameOf} returns. */
export function scopeKindOf(scope: ErasureScope): ErasedKind {
  if ('subject' in scope) return subjectKindOf(scope.subject)
  if ('part' in scope) return scope.part.kind
  return 'unit' in scope ? 'unit' : 'skill'
}

/** Returns the members of a receipt that name its subject, part or record. */
export function namedOnReceipt(
  scope: ErasureScope,
): Pick<Receipt, 'deleted_id'> & Partial<Pick<Receipt, 'subject_kind' | 'part_kind'>> {
  if ('subject' in scope) return { deleted_id: scopeNameOf(scope), subject_kind: subjectKindOf(scope.subject) }
  if ('part' in scope) return { deleted_id: shownId(scope.part.id), part_kind: scope.part.kind }
  return { deleted_id: scopeNameOf(scope) }
}

/** Returns the ids that name the subject, part or record in the deletion log. */
export function namedInLog(scope: ErasureScope): Record<string, string> {
  if ('subject' in scope) return { subject: scopeNameOf(scope), kind: scopeKindOf(scope) }
  if (!('part' in scope)) return { ...scope }
  const { kind, id, project, conversation } = scope.part
  return {
    projectId: project,
    ...(conversation !== null && { conversationId: shownId(conversation) }),
    ...(kind === 'message' && { messageId: shownId(id) }),
    ...(kind === 'document' && { documentId: shownId(id) }),
  }
}

/** Extra names for counts in the deletion log, in addition to the data source's name. */
const countedAs: Readonly<Record<string, string>> = {
  'projects.conversations': 'conversationsDeleted',
  'projects.messages': 'messagesDeleted',
  'projects.documents': 'documentsDeleted',
}
/** Returns the deletion counts for the log by data source, and by extra name where one exists. */
export const countsInLog = (byHolder: Readonly<Record<string, number>>): Record<string, number> => ({
  ...byHolder,
  ...Object.fromEntries(
    Object.entries(countedAs).flatMap(([holder, name]) => {
      const count = byHolder[holder]
      return count === undefined ? [] : [[name, count]]
    }),
  ),
})
