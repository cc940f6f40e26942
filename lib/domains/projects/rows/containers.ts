import {
  emptiedConversations,
  emptiedProjects,
  projectHold,
  wholeConversations,
} from '#lib/domains/projects/emptied-containers.ts'
import {
  projectActorsOf,
  projectHoldsSql,
  scopePart,
  scopeSubject,
  writersOf,
} from '#lib/domains/projects/legal-holds.ts'
import type { DataSource, ErasureScope, PlannedRecord } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  countRemaining,
  holding,
  type PlannedRow,
  plannedOf,
  preferIndexes,
} from '#lib/stores/postgres/legal-hold-rows.ts'
import type { RowPorts } from './authored.ts'
import { untilErased } from './retained-until.ts'

const isOfParts = (scope: ErasureScope): boolean => {
  const kind = scopePart(scope)?.kind
  return kind === 'project' || kind === 'conversation'
}

/** Personal data source for conversations: of a project, of a conversation, or with messages only from the subject. */
export const conversationDataSource = (db: Database, { withdrawNaming }: RowPorts): DataSource => ({
  name: 'projects.conversations',
  store: 'postgresql',
  stage: 'content',
  what: 'conversations in which nobody else said anything, with their titles',
  purpose: 'the conversations of the projects that the subject takes part in',
  kept: untilErased,
  tables: ['conversations'],
  inventory(subject) {
    const { kinds, ids } = writersOf(subject)
    return holding(
      db,
      'conversations-held',
      `SELECT count(*)::int AS n, min(c.created_at) AS since FROM (${emptiedConversations}) AS f JOIN conversations c ON c.id = f.id`,
      [kinds, ids, projectActorsOf(subject)],
    )
  },
  async plan(scope, tx, now) {
    if (!scopeSubject(scope) && !isOfParts(scope)) return { items: [], held: {} }
    await preferIndexes(tx)
    return plannedOf(await wholeConversations(scope, tx, now))
  },
  async explain(scope, tx, now) {
    const rows = isOfParts(scope) ? await wholeConversations(scope, tx, now) : []
    const verdicts = rows.map(
      ({ id, hold }): PlannedRecord => ({
        ...{ store: 'postgresql', kind: 'conversation', id, name: null, found: 'row' },
        ...(hold === null
          ? { verdict: 'deleted', reason: 'source', evidence: [] }
          : { verdict: 'kept', reason: 'held', evidence: [`hold:${hold}`] }),
      }),
    )
    return { verdicts, isPartial: false }
  },
  /** Keeps a conversation with new messages or with messages under legal hold. Verification finds it, and it is planned again. */
  async erase(_scope, items, tx) {
    await preferIndexes(tx)
    const gone = await queryWithin<{ id: string }>(
      tx,
      'erase-conversations',
      `DELETE FROM conversations c WHERE c.id = ANY($1::text[]) AND NOT EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id) RETURNING c.id`,
      [items],
    )
    await withdrawNaming(
      tx,
      gone.map(({ id }) => id),
    )
    return gone.length
  },
  residue(scope, items, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    return countRemaining(db, async (ask) => {
      if (subject) {
        const { kinds, ids } = writersOf(subject)
        await ask(
          `WITH ${projectHoldsSql('$4')} SELECT count(*)::int AS n FROM (${emptiedConversations}) AS c
             WHERE NOT EXISTS (SELECT FROM held_projects h WHERE h.id = c.project)
               AND NOT EXISTS (SELECT FROM messages m JOIN held_writers h ON h.kind = m.author_kind AND h.id = m.author_id WHERE m.conversation_id = c.id)`,
          [kinds, ids, projectActorsOf(subject), now],
        )
        return
      }
      if (part?.kind === 'project')
        await ask(
          `WITH ${projectHoldsSql('$2')} SELECT count(*)::int AS n FROM conversations c WHERE c.project_id = $1
             AND NOT EXISTS (SELECT FROM held_projects h WHERE h.id = c.project_id)
             AND NOT EXISTS (SELECT FROM messages m JOIN held_writers h ON h.kind = m.author_kind AND h.id = m.author_id WHERE m.conversation_id = c.id)`,
          [part.id, now],
        )
      for (const chunk of chunked(items))
        await ask('SELECT count(*)::int AS n FROM conversations WHERE id = ANY($1::text[])', [chunk])
    })
  },
  identities: (items, tx) =>
    queryWithin(
      tx,
      'conversation-identities',
      'SELECT id, false AS "wasPublic" FROM conversations WHERE id = ANY($1::text[])',
      [items],
    ),
})

const planProject = `WITH ${projectHoldsSql('$2')} SELECT p.id, ${projectHold} AS hold FROM projects p WHERE p.id = $1 AND p.status <> 'closed'`
const planEmptied = `WITH ${projectHoldsSql('$4')} SELECT p.id, ${projectHold} AS hold FROM (${emptiedProjects}) AS p`
const isEmpty = `NOT EXISTS (SELECT FROM messages x WHERE x.project_id = p.id) AND NOT EXISTS (SELECT FROM documents x WHERE x.project_id = p.id)
  AND NOT EXISTS (SELECT FROM conversations x WHERE x.project_id = p.id)`

/**
 * Personal data source for projects. The row of a closed project remains for its certificate, without its name. A project in which only the
 * subject participates is deleted.
 */
export const projectDataSource = (db: Database, { withdrawNaming }: RowPorts): DataSource => ({
  name: 'projects.projects',
  store: 'postgresql',
  stage: 'content',
  what: 'projects in which nobody else takes part, with their names',
  purpose: 'the projects that the subject takes part in',
  kept: untilErased,
  tables: ['projects'],
  inventory(subject) {
    const { kinds, ids } = writersOf(subject)
    return holding(
      db,
      'projects-held',
      `SELECT count(*)::int AS n, min(p.created_at) AS since FROM (${emptiedProjects}) AS f JOIN projects p ON p.id = f.id`,
      [kinds, ids, projectActorsOf(subject)],
    )
  },
  async plan(scope, tx, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    await preferIndexes(tx)
    if (subject) {
      const { kinds, ids } = writersOf(subject)
      return plannedOf(
        await queryWithin<PlannedRow>(tx, 'plan-projects', planEmptied, [kinds, ids, projectActorsOf(subject), now]),
      )
    }
    if (part?.kind !== 'project') return { items: [], held: {} }
    return plannedOf(await queryWithin<PlannedRow>(tx, 'plan-project', planProject, [part.id, now]))
  },
  async erase(scope, items, tx, options) {
    await preferIndexes(tx)
    const gone = scopeSubject(scope)
      ? await queryWithin<{ id: string }>(
          tx,
          'erase-projects',
          `DELETE FROM projects p WHERE p.id = ANY($1::text[]) AND ${isEmpty}
             AND NOT EXISTS (SELECT FROM project_members m WHERE m.project_id = p.id) RETURNING p.id`,
          [items],
        )
      : await queryWithin<{ id: string }>(
          tx,
          'close-project',
          `UPDATE projects p SET name = '', status = 'closed', entity_kinds = '{}', created_by = 'erased', closing_by = NULL, erasing_since = NULL,
             closed_at = coalesce($2::timestamptz, p.closes_at, p.updated_at), updated_at = coalesce($2::timestamptz, p.updated_at)
           WHERE p.id = ANY($1::text[]) AND p.status <> 'closed' AND ${isEmpty} RETURNING p.id`,
          [items, options?.now ?? null],
        )
    await withdrawNaming(
      tx,
      gone.map(({ id }) => id),
    )
    return gone.length
  },
  residue(scope, items, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    return countRemaining(db, async (ask) => {
      if (subject) {
        const { kinds, ids } = writersOf(subject)
        await ask(`SELECT count(*)::int AS n FROM (${planEmptied}) AS f WHERE hold IS NULL`, [
          kinds,
          ids,
          projectActorsOf(subject),
          now,
        ])
        return
      }
      if (part?.kind !== 'project' || items.length === 0) return
      // Counts all rows that still belong to the project.
      await ask(
        `SELECT ((SELECT count(*) FROM projects WHERE id = $1 AND (status <> 'closed' OR name <> '' OR entity_kinds <> '{}' OR created_by <> 'erased'))
           + (SELECT count(*) FROM project_members WHERE project_id = $1) + (SELECT count(*) FROM conversations WHERE project_id = $1)
           + (SELECT count(*) FROM messages WHERE project_id = $1) + (SELECT count(*) FROM documents WHERE project_id = $1)
           + (SELECT count(*) FROM provenance WHERE project_id = $1)
           + (SELECT count(*) FROM project_participants WHERE project_id = $1))::int AS n`,
        [part.id],
      )
    })
  },
  // The remaining row of a closed project is already erased.
  identities: (items, tx) =>
    queryWithin(
      tx,
      'project-identities',
      `SELECT id, false AS "wasPublic" FROM projects WHERE id = ANY($1::text[]) AND status <> 'closed'`,
      [items],
    ),
})
