import { emptiedConversations, emptiedProjects } from '#lib/domains/projects/emptied-containers.ts'
import { projectActorsOf, projectHoldsSql, scopeSubject, writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { DataSource, Subject } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import {
  countRemaining,
  holding,
  type PlannedRow,
  plannedOf,
  preferIndexes,
} from '#lib/stores/postgres/legal-hold-rows.ts'

/** A one-way pseudonym for a name of the erased subject in records of others. */
export type ProjectPseudonym = (value: string) => string

/**
 * References to the subject (`$3`) in remaining records: who created or closes a project, created a conversation, added a member, wrote on
 * behalf of a participant, reported a pointer, or edited a message of an agent that now has another owner. Excludes records that are erased
 * with the subject, who is the author `$1`, `$2`.
 */
const going = `emptied_projects AS MATERIALIZED (${emptiedProjects}), emptied_conversations AS MATERIALIZED (${emptiedConversations})`
const naming = `
  SELECT 'project:' || p.id AS id, p.id AS project_id, p.created_at AS at FROM projects p WHERE (p.created_by = ANY($3::text[]) OR p.closing_by = ANY($3::text[]))
    AND p.id NOT IN (SELECT e.id FROM emptied_projects e)
  UNION ALL SELECT 'conversation:' || c.id, c.project_id, c.created_at FROM conversations c WHERE c.created_by = ANY($3::text[])
    AND c.id NOT IN (SELECT e.id FROM emptied_conversations e)
  UNION ALL SELECT 'member:' || m.project_id || '/' || m.kind || '/' || m.member_id, m.project_id, m.added_at FROM project_members m WHERE m.added_by = ANY($3::text[])
    AND NOT EXISTS (SELECT FROM unnest($1::text[], $2::text[]) AS w(kind, id) WHERE w.kind = m.kind AND w.id = m.member_id)
  UNION ALL SELECT 'pointer:' || v.id, v.project_id, v.at FROM provenance v
    LEFT JOIN messages x ON v.source_kind = 'message' AND x.id = v.source_id
    LEFT JOIN documents y ON v.source_kind = 'document' AND y.id = v.source_id
    WHERE v.told_by = ANY($3::text[]) AND NOT EXISTS (SELECT FROM unnest($1::text[], $2::text[]) AS w(kind, id)
      WHERE w.kind = coalesce(x.author_kind, y.author_kind) AND w.id = coalesce(x.author_id, y.author_id))
  UNION ALL SELECT 'participant:' || o.id, o.project_id, o.created_at FROM project_participants o WHERE o.created_by = ANY($3::text[])
    AND NOT EXISTS (SELECT FROM unnest($1::text[], $2::text[]) AS w(kind, id) WHERE w.kind = 'participant' AND w.id = o.id)
  UNION ALL SELECT 'written-message:' || m.id, m.project_id, m.created_at FROM messages m WHERE m.written_by = ANY($3::text[])
    AND NOT EXISTS (SELECT FROM unnest($1::text[], $2::text[]) AS w(kind, id) WHERE w.kind = m.author_kind AND w.id = m.author_id)
  UNION ALL SELECT 'written-document:' || d.id, d.project_id, d.created_at FROM documents d WHERE d.written_by = ANY($3::text[])
    AND NOT EXISTS (SELECT FROM unnest($1::text[], $2::text[]) AS w(kind, id) WHERE w.kind = d.author_kind AND w.id = d.author_id)
  UNION ALL SELECT 'edit:' || e.id, m.project_id, e.edited_at FROM message_edits e JOIN messages m ON m.id = e.message_id
    WHERE e.edited_by = ANY($3::text[]) AND NOT EXISTS (SELECT FROM unnest($1::text[], $2::text[]) AS w(kind, id) WHERE w.kind = m.author_kind AND w.id = m.author_id)`
const planned = `WITH ${projectHoldsSql('$4')}, ${going} SELECT n.id, h.hold FROM (${naming}) AS n LEFT JOIN held_projects h ON h.id = n.project_id`

const of = (kind: string): string =>
  `(SELECT substr(i, ${kind.length + 2}) FROM unnest($1::text[]) AS i WHERE starts_with(i, '${kind}:'))`
const renamed = (column: string): string =>
  `coalesce((SELECT r.name FROM unnest($2::text[], $3::text[]) AS r(was, name) WHERE r.was = ${column}), ${column})`
/** `$1`: items, `$2`: names, `$3`: their replacements. The titles of the subject's conversations are emptied; messages of others remain. */
const renaming = [
  `UPDATE projects p SET created_by = ${renamed('p.created_by')}, closing_by = ${renamed('p.closing_by')} WHERE p.id IN ${of('project')} RETURNING 1`,
  `UPDATE conversations c SET title = '', created_by = ${renamed('c.created_by')} WHERE c.id IN ${of('conversation')} RETURNING 1`,
  `UPDATE project_members m SET added_by = ${renamed('m.added_by')} WHERE m.project_id IN (SELECT split_part(i, '/', 1) FROM ${of('member')} AS f(i))
     AND m.project_id || '/' || m.kind || '/' || m.member_id IN ${of('member')} RETURNING 1`,
  `UPDATE provenance v SET told_by = ${renamed('v.told_by')} WHERE v.id IN ${of('pointer')} RETURNING 1`,
  `UPDATE project_participants o SET created_by = ${renamed('o.created_by')} WHERE o.id IN ${of('participant')} RETURNING 1`,
  `UPDATE messages m SET written_by = ${renamed('m.written_by')} WHERE m.id IN ${of('written-message')} RETURNING 1`,
  `UPDATE documents d SET written_by = ${renamed('d.written_by')} WHERE d.id IN ${of('written-document')} RETURNING 1`,
  `UPDATE message_edits e SET edited_by = ${renamed('e.edited_by')} WHERE e.id IN ${of('edit')} RETURNING 1`,
]

/** Personal data source for references in records of others. The records remain, and a one-way pseudonym replaces the name. */
export const projectReferencesDataSource = (
  db: Database,
  { pseudonymOf }: { pseudonymOf: ProjectPseudonym },
): DataSource => {
  const values = (subject: Subject): unknown[] => {
    const { kinds, ids } = writersOf(subject)
    return [kinds, ids, projectActorsOf(subject)]
  }
  return {
    name: 'projects.references',
    store: 'postgresql',
    stage: 'content',
    what: 'references in others’ projects: who began something, let somebody take part, told where something went, or corrected a message: replaced by a one-way pseudonym, titles that the subject gave blanked, and the records stay',
    held: 'others’ projects and conversations that name the subject as who began them, let somebody take part, told where something went, or corrected a message',
    purpose: 'saying who did what in a project',
    kept: 'as long as the record that they stand in',
    tables: [],
    inventory: (subject) =>
      holding(
        db,
        'project-references-held',
        `WITH ${going} SELECT count(*)::int AS n, min(at) AS since FROM (${naming}) AS f`,
        values(subject),
      ),
    async plan(scope, tx, now) {
      const subject = scopeSubject(scope)
      if (!subject) return { items: [], held: {} }
      await preferIndexes(tx)
      return plannedOf(await queryWithin<PlannedRow>(tx, 'plan-project-references', planned, [...values(subject), now]))
    },
    async erase(scope, items, tx) {
      const subject = scopeSubject(scope)
      if (!subject) return 0
      await preferIndexes(tx)
      const names = projectActorsOf(subject)
      // All names of a person get the same pseudonym.
      const to = names.map((name) =>
        pseudonymOf(subject.account !== null && name === `user:${subject.account}` ? subject.account : name),
      )
      let changed = 0
      for (const [n, text] of renaming.entries())
        changed += (await queryWithin(tx, `rename-in-projects-${n}`, text, [items, names, to])).length
      return changed
    },
    residue(scope, _items, now) {
      const subject = scopeSubject(scope)
      if (!subject) return Promise.resolve(0)
      return countRemaining(db, (ask) =>
        ask(`SELECT count(*)::int AS n FROM (${planned}) AS f WHERE hold IS NULL`, [...values(subject), now]),
      )
    },
  }
}
