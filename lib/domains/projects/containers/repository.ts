import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import { statement } from '#lib/stores/postgres/statement.ts'
import {
  conversationHold,
  projectActorsOf,
  projectHold,
  projectHoldsSql,
  scopePart,
  scopeSubject,
  writersOf,
} from '../legal-holds.ts'

/** Parallel lists of kinds and ids of the subject's authors, and the subject's names as an actor. */
const subject = { kinds: 'text[]', ids: 'text[]', actors: 'text[]' } as const
const subjectAt = { ...subject, now: 'timestamptz' } as const
const planned = { id: 'text', hold: 'text?' } as const
const counted = { n: 'int4' } as const
const inventory = { n: 'int4', since: 'timestamptz?' } as const

const isWriter = (kind: string, id: string): string =>
  `EXISTS (SELECT FROM unnest($kinds, $ids) AS w(kind, id) WHERE w.kind = ${kind} AND w.id = ${id})`
const isTheirs = (alias: string): string => isWriter(`${alias}.author_kind`, `${alias}.author_id`)

/** Conversations that the subject created or wrote in, with no messages of others. They are erased with the subject. */
const emptiedConversations = `SELECT c.id, c.project_id, c.threads FROM (
    SELECT id FROM conversations WHERE created_by = ANY($actors)
    UNION SELECT m.conversation_id FROM unnest($kinds, $ids) AS w(kind, id) JOIN messages m ON m.author_kind = w.kind AND m.author_id = w.id
  ) AS f JOIN conversations c ON c.id = f.id
  WHERE NOT EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id AND NOT ${isTheirs('m')})`

/** Projects with no members, messages, documents or conversations of people other than the subject. They are erased with the subject. */
const emptiedProjects = `SELECT p.id FROM (
    SELECT m.project_id AS id FROM unnest($kinds, $ids) AS w(kind, id) JOIN project_members m ON m.kind = w.kind AND m.member_id = w.id
    UNION SELECT id FROM projects WHERE created_by = ANY($actors)) AS f JOIN projects p ON p.id = f.id
  WHERE p.status <> 'closed'
    AND NOT EXISTS (SELECT FROM project_members m WHERE m.project_id = p.id AND NOT ${isWriter('m.kind', 'm.member_id')})
    AND NOT EXISTS (SELECT FROM messages m WHERE m.project_id = p.id AND NOT ${isTheirs('m')})
    AND NOT EXISTS (SELECT FROM documents d WHERE d.project_id = p.id AND NOT ${isTheirs('d')})
    AND NOT EXISTS (SELECT FROM conversations c WHERE c.project_id = p.id AND c.created_by <> ALL($actors))`

const wholeProject = { id: 'text', group: 'text', conversations: 'text[]', threads: 'text[]!' } as const
const wholeProjectSql = `p.id, p.group_id AS group, ARRAY(SELECT c.id FROM conversations c WHERE c.project_id = p.id ORDER BY c.id) AS conversations,
  ARRAY(SELECT DISTINCT t FROM conversations c CROSS JOIN LATERAL unnest(c.threads) AS t WHERE c.project_id = p.id ORDER BY t) AS threads`
/** Projects that are erased with the subject and are not under legal hold. */
const wholeProjectsOfSubject = statement('projects.whole-projects-of-subject', {
  takes: subjectAt,
  returns: wholeProject,
  isPrepared: true,
  sql: `WITH ${projectHoldsSql('$now')} SELECT ${wholeProjectSql}
    FROM (${emptiedProjects}) AS f JOIN projects p ON p.id = f.id WHERE ${projectHold} IS NULL ORDER BY p.id`,
})
const wholeProjectById = statement('projects.whole-project', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: wholeProject,
  isPrepared: true,
  sql: `WITH ${projectHoldsSql('$now')} SELECT ${wholeProjectSql} FROM projects p WHERE p.id = $id AND ${projectHold} IS NULL`,
})

const wholeConversation = { id: 'text', project: 'text', threads: 'text[]!', hold: 'text?' } as const
const wholeConversationSql = `c.id, c.project_id AS project, c.threads, ${conversationHold} AS hold`
/** Conversations that are erased with the subject, with their legal holds. */
const wholeConversationsOfSubject = statement('projects.whole-conversations-of-subject', {
  takes: subjectAt,
  returns: wholeConversation,
  isPrepared: true,
  sql: `WITH ${projectHoldsSql('$now')} SELECT ${wholeConversationSql} FROM (${emptiedConversations}) AS c`,
})
/** The conversation itself, or all conversations of a project, with their legal holds. */
const wholeConversationsOfPart = statement('projects.whole-conversations-of-part', {
  takes: { id: 'text', project: 'text', now: 'timestamptz' },
  returns: wholeConversation,
  isPrepared: true,
  variants: ['conversation', 'project'],
  sql: (kind: 'conversation' | 'project') => `WITH ${projectHoldsSql('$now')} SELECT ${wholeConversationSql}
    FROM conversations c WHERE c.${kind === 'conversation' ? 'id' : 'project_id'} = $id AND c.project_id = $project`,
})

export const conversationInventory = statement('projects.conversation-inventory', {
  takes: subject,
  returns: inventory,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n, min(c.created_at) AS since FROM (${emptiedConversations}) AS f JOIN conversations c ON c.id = f.id`,
})
/** Deletes conversations that have no messages. */
export const deleteConversations = statement('projects.delete-conversations', {
  takes: { items: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `DELETE FROM conversations c WHERE c.id = ANY($items)
    AND NOT EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id) RETURNING c.id`,
})
const isUnheld = `NOT EXISTS (SELECT FROM held_projects h WHERE h.id = c.project_id)
  AND NOT EXISTS (SELECT FROM messages m JOIN held_writers h ON h.kind = m.author_kind AND h.id = m.author_id WHERE m.conversation_id = c.id)`
export const countErasableConversations = statement('projects.count-erasable-conversations', {
  takes: subjectAt,
  returns: counted,
  sql: `WITH ${projectHoldsSql('$now')} SELECT count(*)::int4 AS n FROM (${emptiedConversations}) AS c WHERE ${isUnheld}`,
})
export const countErasableConversationsOfProject = statement('projects.count-erasable-conversations-of-project', {
  takes: { project: 'text', now: 'timestamptz' },
  returns: counted,
  sql: `WITH ${projectHoldsSql('$now')} SELECT count(*)::int4 AS n FROM conversations c WHERE c.project_id = $project AND ${isUnheld}`,
})
export const countConversations = statement('projects.count-conversations', {
  takes: { items: 'text[]' },
  returns: counted,
  sql: 'SELECT count(*)::int4 AS n FROM conversations WHERE id = ANY($items)',
})
/** The ids that exist. A closed project is already erased. */
export const identitiesOfContainers = statement('projects.identities-of-containers', {
  takes: { items: 'text[]' },
  returns: { id: 'text', wasPublic: 'bool' },
  isPrepared: true,
  variants: ['conversation', 'project'],
  sql: (kind: 'conversation' | 'project') =>
    kind === 'conversation'
      ? 'SELECT id, false AS "wasPublic" FROM conversations WHERE id = ANY($items)'
      : `SELECT id, false AS "wasPublic" FROM projects WHERE id = ANY($items) AND status <> 'closed'`,
})

export const projectInventory = statement('projects.project-inventory', {
  takes: subject,
  returns: inventory,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n, min(p.created_at) AS since FROM (${emptiedProjects}) AS f JOIN projects p ON p.id = f.id`,
})
export const plannedProject = statement('projects.planned-project', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: planned,
  isPrepared: true,
  sql: `WITH ${projectHoldsSql('$now')} SELECT p.id, ${projectHold} AS hold FROM projects p WHERE p.id = $id AND p.status <> 'closed'`,
})
const selectPlanned = `WITH ${projectHoldsSql('$now')} SELECT p.id, ${projectHold} AS hold FROM (${emptiedProjects}) AS p`
export const plannedProjects = statement('projects.planned-projects', {
  takes: subjectAt,
  returns: planned,
  isPrepared: true,
  sql: selectPlanned,
})
export const countErasableProjects = statement('projects.count-erasable-projects', {
  takes: subjectAt,
  returns: counted,
  sql: `SELECT count(*)::int4 AS n FROM (${selectPlanned}) AS f WHERE hold IS NULL`,
})
/** Open projects that the subject owns and that have members or content of others. */
export const countSharedOwnedProjects = statement('projects.count-shared-owned', {
  takes: subject,
  returns: counted,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM (
      SELECT m.project_id AS id FROM unnest($kinds, $ids) AS w(kind, id)
        JOIN project_members m ON m.kind = w.kind AND m.member_id = w.id WHERE m.role = 'owner'
      EXCEPT ${emptiedProjects}) AS f JOIN projects p ON p.id = f.id WHERE p.status <> 'closed'`,
})
const isEmpty = ['messages', 'documents', 'conversations']
  .map((table) => `NOT EXISTS (SELECT FROM ${table} x WHERE x.project_id = p.id)`)
  .join(' AND ')
/** Deletes projects that contain nothing and have no members. */
export const deleteProjects = statement('projects.delete-projects', {
  takes: { items: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `DELETE FROM projects p WHERE p.id = ANY($items) AND ${isEmpty}
    AND NOT EXISTS (SELECT FROM project_members m WHERE m.project_id = p.id) RETURNING p.id`,
})
/** Closes empty projects. Their rows remain for the receipt, without personal data. */
export const closeProjects = statement('projects.close', {
  takes: { items: 'text[]', now: 'timestamptz?' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `UPDATE projects p SET name = '', status = 'closed', entity_kinds = '{}', created_by = 'erased', closing_by = NULL, erasing_since = NULL,
      closed_at = coalesce($now, p.closes_at, p.updated_at), updated_at = coalesce($now, p.updated_at)
    WHERE p.id = ANY($items) AND p.status <> 'closed' AND ${isEmpty} RETURNING p.id`,
})
const tablesOfProjects = [
  'project_members',
  'conversations',
  'messages',
  'documents',
  'provenance',
  'project_participants',
]
/** How many rows still belong to a closed project. */
export const countRowsOfProject = statement('projects.count-rows', {
  takes: { id: 'text' },
  returns: counted,
  sql: `SELECT ((SELECT count(*) FROM projects WHERE id = $id AND (status <> 'closed' OR name <> '' OR entity_kinds <> '{}' OR created_by <> 'erased'))
    + ${tablesOfProjects.map((table) => `(SELECT count(*) FROM ${table} WHERE project_id = $id)`).join(' + ')})::int4 AS n`,
})

/** Remaining rows that name the subject as an actor. Excludes rows that are erased with the subject. */
const emptied = `emptied_projects AS MATERIALIZED (${emptiedProjects}), emptied_conversations AS MATERIALIZED (${emptiedConversations})`
const references = `
  SELECT 'project:' || p.id AS id, p.id AS project_id, p.created_at AS at FROM projects p
    WHERE (p.created_by = ANY($actors) OR p.closing_by = ANY($actors)) AND p.id NOT IN (SELECT e.id FROM emptied_projects e)
  UNION ALL SELECT 'conversation:' || c.id, c.project_id, c.created_at FROM conversations c
    WHERE c.created_by = ANY($actors) AND c.id NOT IN (SELECT e.id FROM emptied_conversations e)
  UNION ALL SELECT 'member:' || m.project_id || '/' || m.kind || '/' || m.member_id, m.project_id, m.added_at FROM project_members m
    WHERE m.added_by = ANY($actors) AND NOT ${isWriter('m.kind', 'm.member_id')}
  UNION ALL SELECT 'pointer:' || v.id, v.project_id, v.at FROM provenance v
    LEFT JOIN messages x ON v.source_kind = 'message' AND x.id = v.source_id
    LEFT JOIN documents y ON v.source_kind = 'document' AND y.id = v.source_id
    WHERE v.told_by = ANY($actors) AND NOT ${isWriter('coalesce(x.author_kind, y.author_kind)', 'coalesce(x.author_id, y.author_id)')}
  UNION ALL SELECT 'participant:' || o.id, o.project_id, o.created_at FROM project_participants o
    WHERE (o.created_by = ANY($actors) OR o.email_by = ANY($actors)) AND NOT ${isWriter("'participant'", 'o.id')}
  UNION ALL SELECT 'written-message:' || m.id, m.project_id, m.created_at FROM messages m
    WHERE m.written_by = ANY($actors) AND NOT ${isTheirs('m')}
  UNION ALL SELECT 'written-document:' || d.id, d.project_id, d.created_at FROM documents d
    WHERE d.written_by = ANY($actors) AND NOT ${isTheirs('d')}
  UNION ALL SELECT 'edit:' || e.id, m.project_id, e.edited_at FROM message_edits e JOIN messages m ON m.id = e.message_id
    WHERE e.edited_by = ANY($actors) AND NOT ${isTheirs('m')}`
export const referenceInventory = statement('projects.reference-inventory', {
  takes: subject,
  returns: inventory,
  isPrepared: true,
  sql: `WITH ${emptied} SELECT count(*)::int4 AS n, min(at) AS since FROM (${references}) AS f`,
})
const selectReferences = `WITH ${projectHoldsSql('$now')}, ${emptied}
  SELECT n.id, h.hold FROM (${references}) AS n LEFT JOIN held_projects h ON h.id = n.project_id`
export const plannedReferences = statement('projects.planned-references', {
  takes: subjectAt,
  returns: planned,
  isPrepared: true,
  sql: selectReferences,
})
export const countErasableReferences = statement('projects.count-erasable-references', {
  takes: subjectAt,
  returns: counted,
  sql: `SELECT count(*)::int4 AS n FROM (${selectReferences}) AS f WHERE hold IS NULL`,
})

/** The kinds of references, by the prefix of their items. */
export const referenceKinds = [
  'project',
  'conversation',
  'member',
  'pointer',
  'participant',
  'written-message',
  'written-document',
  'edit',
] as const
type ReferenceKind = (typeof referenceKinds)[number]
const itemsOf = (kind: ReferenceKind): string =>
  `(SELECT substr(i, ${kind.length + 2}) FROM unnest($items) AS i WHERE starts_with(i, '${kind}:'))`
const renamed = (column: string): string =>
  `${column} = coalesce((SELECT r.name FROM unnest($names, $pseudonyms) AS r(was, name) WHERE r.was = x.${column}), x.${column})`
const renamings: Record<ReferenceKind, string> = {
  project: `projects x SET ${renamed('created_by')}, ${renamed('closing_by')} WHERE x.id IN ${itemsOf('project')}`,
  // The subject chose the title.
  conversation: `conversations x SET title = '', ${renamed('created_by')} WHERE x.id IN ${itemsOf('conversation')}`,
  member: `project_members x SET ${renamed('added_by')} WHERE x.project_id IN (SELECT split_part(i, '/', 1) FROM ${itemsOf('member')} AS f(i))
    AND x.project_id || '/' || x.kind || '/' || x.member_id IN ${itemsOf('member')}`,
  pointer: `provenance x SET ${renamed('told_by')} WHERE x.id IN ${itemsOf('pointer')}`,
  participant: `project_participants x SET ${renamed('created_by')}, ${renamed('email_by')} WHERE x.id IN ${itemsOf('participant')}`,
  'written-message': `messages x SET ${renamed('written_by')} WHERE x.id IN ${itemsOf('written-message')}`,
  'written-document': `documents x SET ${renamed('written_by')} WHERE x.id IN ${itemsOf('written-document')}`,
  edit: `message_edits x SET ${renamed('edited_by')} WHERE x.id IN ${itemsOf('edit')}`,
}
/** Replaces names of the subject by pseudonyms in the rows of the items of one kind. */
export const renameReferences = statement('projects.rename-references', {
  takes: { items: 'text[]', names: 'text[]', pseudonyms: 'text[]' },
  returns: 'count',
  isPrepared: true,
  variants: referenceKinds,
  sql: (kind: ReferenceKind) => `UPDATE ${renamings[kind]}`,
})

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
