import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/data-source.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { projectActorsOf, projectHoldsSql, scopePart, scopeSubject, writersOf } from './legal-holds.ts'

/** SQL: whether the row's author is one of the writers `$1`, `$2`. */
const isTheirs = (alias: string): string =>
  `EXISTS (SELECT FROM unnest($1::text[], $2::text[]) AS w(kind, id) WHERE w.kind = ${alias}.author_kind AND w.id = ${alias}.author_id)`
/** SQL: the legal hold on a conversation: on its project, or on an author of a message in it. */
export const conversationHold = `coalesce((SELECT h.hold FROM held_projects h WHERE h.id = c.project_id),
    (SELECT min(h.hold) FROM held_writers h JOIN messages m ON m.author_kind = h.kind AND m.author_id = h.id WHERE m.conversation_id = c.id))`

/**
 * SQL: a conversation `c` that the subject began (names `$3`) or wrote in (writers `$1`, `$2`), with no messages of others. It is erased
 * with the subject.
 */
const emptiedConversation = `NOT EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id AND NOT ${isTheirs('m')})`
const begunOrWritten = `SELECT id FROM conversations WHERE created_by = ANY($3::text[])
  UNION SELECT m.conversation_id FROM unnest($1::text[], $2::text[]) AS w(kind, id) JOIN messages m ON m.author_kind = w.kind AND m.author_id = w.id`
export const emptiedConversations = `SELECT c.id, c.project_id AS project, c.threads FROM (${begunOrWritten}) AS f JOIN conversations c ON c.id = f.id
  WHERE ${emptiedConversation}`

/**
 * SQL: a project `p` with no members, messages, documents or conversations of people other than the subject. It is erased with the subject.
 */
const emptiedProject = `NOT EXISTS (SELECT FROM project_members m WHERE m.project_id = p.id AND NOT EXISTS (
      SELECT FROM unnest($1::text[], $2::text[]) AS w(kind, id) WHERE w.kind = m.kind AND w.id = m.member_id))
  AND NOT EXISTS (SELECT FROM messages m WHERE m.project_id = p.id AND NOT ${isTheirs('m')})
  AND NOT EXISTS (SELECT FROM documents d WHERE d.project_id = p.id AND NOT ${isTheirs('d')})
  AND NOT EXISTS (SELECT FROM conversations c WHERE c.project_id = p.id AND c.created_by <> ALL($3::text[]))`
export const emptiedProjects = `SELECT p.id FROM (
    SELECT m.project_id AS id FROM unnest($1::text[], $2::text[]) AS w(kind, id) JOIN project_members m ON m.kind = w.kind AND m.member_id = w.id
    UNION SELECT id FROM projects WHERE created_by = ANY($3::text[])) AS f JOIN projects p ON p.id = f.id
  WHERE p.status <> 'closed' AND ${emptiedProject}`

/** SQL: the legal hold that retains the row of project `p`: on the project, or on an author of a message or document in it. */
export const projectHold = `coalesce((SELECT h.hold FROM held_projects h WHERE h.id = p.id),
  (SELECT min(h.hold) FROM held_writers h JOIN messages m ON m.author_kind = h.kind AND m.author_id = h.id WHERE m.project_id = p.id),
  (SELECT min(h.hold) FROM held_writers h JOIN documents d ON d.author_kind = h.kind AND d.author_id = h.id WHERE d.project_id = p.id))`
interface WholeProject {
  id: string
  group: string
  conversations: string[]
  threads: string[]
}
const inProject = `p.id, p.group_id AS group, ARRAY(SELECT c.id FROM conversations c WHERE c.project_id = p.id ORDER BY c.id) AS conversations,
  ARRAY(SELECT DISTINCT t FROM conversations c CROSS JOIN LATERAL unnest(c.threads) AS t WHERE c.project_id = p.id ORDER BY t) AS threads`
/** Projects that are erased completely with a scope and are not under legal hold. */
export async function wholeProjects(scope: ErasureScope, tx: Transaction, now: Date): Promise<WholeProject[]> {
  const subject = scopeSubject(scope)
  const part = scopePart(scope)
  if (subject) {
    const { kinds, ids } = writersOf(subject)
    return queryWithin(
      tx,
      'whole-projects-subject',
      `WITH ${projectHoldsSql('$4')} SELECT ${inProject} FROM (${emptiedProjects}) AS f JOIN projects p ON p.id = f.id WHERE ${projectHold} IS NULL ORDER BY p.id`,
      [kinds, ids, projectActorsOf(subject), now],
    )
  }
  if (part?.kind !== 'project') return []
  return queryWithin(
    tx,
    'whole-project',
    `WITH ${projectHoldsSql('$2')} SELECT ${inProject} FROM projects p WHERE p.id = $1 AND ${projectHold} IS NULL`,
    [part.id, now],
  )
}

interface WholeConversation {
  id: string
  project: string
  threads: string[]
  hold: string | null
}
/** Conversations that are erased completely with a scope, with their legal holds. */
export async function wholeConversations(
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<WholeConversation[]> {
  const subject = scopeSubject(scope)
  const part = scopePart(scope)
  if (subject) {
    const { kinds, ids } = writersOf(subject)
    return queryWithin(
      tx,
      'whole-conversations-subject',
      `WITH ${projectHoldsSql('$4')} SELECT c.*, ${conversationHold.replaceAll('c.project_id', 'c.project')} AS hold FROM (${emptiedConversations}) AS c`,
      [kinds, ids, projectActorsOf(subject), now],
    )
  }
  if (part?.kind !== 'conversation' && part?.kind !== 'project') return []
  const column = part.kind === 'conversation' ? 'id' : 'project_id'
  return queryWithin(
    tx,
    `whole-conversations-${part.kind}`,
    `WITH ${projectHoldsSql('$3')} SELECT c.id, c.project_id AS project, c.threads, ${conversationHold} AS hold
     FROM conversations c WHERE c.${column} = $1 AND c.project_id = $2`,
    [part.id, part.project, now],
  )
}
