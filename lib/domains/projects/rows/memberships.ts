import { projectHoldsSql, scopePart, scopeSubject, writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import {
  countRemaining,
  holding,
  type PlannedRow,
  plannedOf,
  preferIndexes,
} from '#lib/stores/postgres/legal-hold-rows.ts'
import { untilErased } from './retained-until.ts'

const itemOf = (alias: string): string => `${alias}.project_id || '/' || ${alias}.kind || '/' || ${alias}.member_id`
/** Splits items into project, kind and id. Only the id may contain slashes. */
const splitItems = `SELECT split_part(i, '/', 1) AS project_id, split_part(i, '/', 2) AS kind, substr(i, length(split_part(i, '/', 1)) + length(split_part(i, '/', 2)) + 3) AS member_id
  FROM unnest($1::text[]) AS i`
const planOf = (where: string): string =>
  `WITH ${projectHoldsSql('$3')} SELECT ${itemOf('m')} AS id, h.hold FROM project_members m LEFT JOIN held_projects h ON h.id = m.project_id WHERE ${where}`
const ofSubject = planOf(
  '(m.kind, m.member_id) IN (SELECT w.kind, w.id FROM unnest($1::text[], $2::text[]) AS w(kind, id))',
)
const ofProject = planOf('m.project_id = $1 AND $2::text IS NOT NULL')

/** Personal data source for project members. If the last owner is erased, the member who joined first becomes owner. */
export const memberDataSource = (db: Database): DataSource => ({
  name: 'projects.members',
  store: 'postgresql',
  stage: 'content',
  what: 'in which projects the subject takes part, and as what',
  purpose: 'letting members, and nobody else, read and write what is in a project',
  kept: untilErased,
  tables: ['project_members'],
  inventory(subject) {
    const { kinds, ids } = writersOf(subject)
    return holding(
      db,
      'members-held',
      `SELECT count(*)::int AS n, min(m.added_at) AS since FROM unnest($1::text[], $2::text[]) AS w(kind, id)
       JOIN project_members m ON m.kind = w.kind AND m.member_id = w.id`,
      [kinds, ids],
    )
  },
  async plan(scope, tx, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    if (!subject && part?.kind !== 'project') return { items: [], held: {} }
    await preferIndexes(tx)
    const writers = subject && writersOf(subject)
    const rows = writers
      ? await queryWithin<PlannedRow>(tx, 'plan-members-subject', ofSubject, [writers.kinds, writers.ids, now])
      : await queryWithin<PlannedRow>(tx, 'plan-members-project', ofProject, [part?.id, part?.project, now])
    return plannedOf(rows)
  },
  async erase(_scope, items, tx) {
    await preferIndexes(tx)
    const gone = await queryWithin<{ project_id: string }>(
      tx,
      'erase-members',
      `DELETE FROM project_members m USING (${splitItems}) AS i
       WHERE m.project_id = i.project_id AND m.kind = i.kind AND m.member_id = i.member_id RETURNING m.project_id`,
      [items],
    )
    await queryWithin(
      tx,
      'next-owners',
      `UPDATE project_members m SET role = 'owner' FROM (
         SELECT DISTINCT ON (n.project_id) n.project_id, n.kind, n.member_id FROM project_members n WHERE n.project_id = ANY($1::text[])
           AND NOT EXISTS (SELECT FROM project_members o WHERE o.project_id = n.project_id AND o.role = 'owner')
         ORDER BY n.project_id, n.added_at, n.kind, n.member_id) AS f
       WHERE m.project_id = f.project_id AND m.kind = f.kind AND m.member_id = f.member_id`,
      [[...new Set(gone.map(({ project_id }) => project_id))]],
    )
    return gone.length
  },
  residue(scope, items, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    return countRemaining(db, async (ask) => {
      if (subject) {
        const { kinds, ids } = writersOf(subject)
        await ask(`SELECT count(*)::int AS n FROM (${ofSubject}) AS f WHERE hold IS NULL`, [kinds, ids, now])
      }
      if (part?.kind === 'project')
        await ask(`SELECT count(*)::int AS n FROM (${ofProject}) AS f WHERE hold IS NULL`, [part.id, part.project, now])
      if (items.length > 0)
        await ask(`SELECT count(*)::int AS n FROM project_members m WHERE ${itemOf('m')} = ANY($1::text[])`, [items])
    })
  },
})
