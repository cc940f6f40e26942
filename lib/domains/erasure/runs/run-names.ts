import type { PartKind, Subject } from '#lib/kernel/data-source.ts'
import type { Receipt, SubjectKind } from '#lib/kernel/receipt.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { RunScope } from './run-rules.ts'

/** Returns the id of a run's subject or part, for receipts and logs. */
export const scopeNameOf = (scope: RunScope): string =>
  'part' in scope
    ? scope.part.id
    : (scope.subject.account ?? scope.subject.agents[0] ?? scope.subject.participants?.[0] ?? 'nobody')
function subjectKindOf({ account, agents, participants = [] }: Subject): SubjectKind {
  if (account !== null) return 'account'
  return agents.length === 0 && participants.length > 0 ? 'participant' : 'agent'
}
/** Returns the kind of the id that {@link scopeNameOf} returns. */
export const scopeKindOf = (scope: RunScope): SubjectKind | PartKind =>
  'part' in scope ? scope.part.kind : subjectKindOf(scope.subject)

/** Returns the members of a receipt that name its subject or part. */
export const namedOnReceipt = (
  scope: RunScope,
): Pick<Receipt, 'deleted_id'> & Partial<Pick<Receipt, 'subject_kind' | 'part_kind'>> => ({
  deleted_id: 'part' in scope ? shownId(scope.part.id) : scopeNameOf(scope),
  ...('part' in scope ? { part_kind: scope.part.kind } : { subject_kind: subjectKindOf(scope.subject) }),
})

/** Returns the ids that name the subject or part in the deletion log. */
export function namedInLog(scope: RunScope): Record<string, string> {
  if ('subject' in scope) return { subject: scopeNameOf(scope), kind: scopeKindOf(scope) }
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
