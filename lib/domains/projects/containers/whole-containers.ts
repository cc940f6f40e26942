import { projectActorsOf, scopePart, scopeSubject, writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import {
  wholeConversationsOfPart,
  wholeConversationsOfSubject,
  wholeProjectById,
  wholeProjectsOfSubject,
} from './repository.ts'

/** The authors among the subject's identities, and its names as an actor. */
export const identitiesOf = (subject: Subject) => ({ ...writersOf(subject), actors: projectActorsOf(subject) })

/** Projects that are erased completely with a scope and are not under legal hold. */
export async function wholeProjects(scope: ErasureScope, tx: Transaction, now: Date) {
  const subject = scopeSubject(scope)
  if (subject) return wholeProjectsOfSubject(tx, { ...identitiesOf(subject), now })
  const part = scopePart(scope)
  return part?.kind === 'project' ? wholeProjectById(tx, { id: part.id, now }) : []
}

/** Conversations that are erased completely with a scope, with their legal holds. */
export async function wholeConversations(scope: ErasureScope, tx: Transaction, now: Date) {
  const subject = scopeSubject(scope)
  if (subject) return wholeConversationsOfSubject(tx, { ...identitiesOf(subject), now })
  const part = scopePart(scope)
  return part?.kind === 'conversation' || part?.kind === 'project'
    ? wholeConversationsOfPart(tx, { id: part.id, project: part.project, now }, part.kind)
    : []
}
