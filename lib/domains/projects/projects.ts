import { claimGroup } from '#lib/domains/projects/provenance/claims.ts'
import { isWithin, requireRegion, requireStorable } from '#lib/kernel/data-regions.ts'
import { newId } from '#lib/kernel/ids.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import {
  officeOf,
  ownProjects,
  type ProjectQuery,
  projectReaderOf,
  queryDirectly,
  queryInTransaction,
  readerValues,
  requireOwner,
  writableProject,
  writerOf,
} from './access.ts'
import { createProject, editProject, listProjects, readProject } from './contract.ts'
import type { ProjectPorts } from './ports.ts'
import { type ProjectRow, projectAsSeen, projectColumns, projectView } from './project-rows.ts'

/** SQL: projects of the reader; with `$6`, also those that the reader's office may see. `$7`: the status, if given. */
const seen = `((p.id IN ${ownProjects} AND p.organisation_id = $3) OR ($6::boolean AND ${officeOf} IS NOT NULL))
  AND ($7::text IS NULL OR p.status::text = $7)`
const selectPage = `SELECT ${projectColumns} FROM projects p WHERE ${seen} AND (p.created_at, p.id) < ($8::timestamptz, $9)
  ORDER BY p.created_at DESC, p.id DESC LIMIT $10`
const countAll = `SELECT count(*)::int AS n FROM projects p WHERE ${seen.replaceAll('$6', '$5').replaceAll('$7', '$6')}`

/** @throws {Problem} `conflict` if a conversation of the project requires data outside of the new region */
async function requireConversationsWithin(
  ask: ProjectQuery,
  projectId: string,
  region: string | null | undefined,
): Promise<void> {
  if (region == null) return
  const rows = await ask<{ region: string }>(
    'regions-of-conversations',
    'SELECT DISTINCT region FROM conversations WHERE project_id = $1 AND region IS NOT NULL',
    [projectId],
  )
  if (rows.some((row) => !isWithin(row.region, region)))
    throw new Problem(
      'conflict',
      `A conversation of this project has a region outside of ${region}. Nothing was changed.`,
    )
}

/** Use cases to list, create, read and edit projects. */
export const ownedProjects = ({ db, regions, ...ports }: Pick<ProjectPorts, 'db' | 'regions' | 'hasEpisodes'>) => ({
  list: read(listProjects, async (ctx, { query: { all, status, cursor, limit } }) => {
    const after = parseCursor(cursor)
    const reader = readerValues(projectReaderOf(ctx))
    const which = [all, status ?? null]
    const [rows, [counted]] = await Promise.all([
      db.query<ProjectRow>('projects-page', selectPage, [
        ...reader,
        ctx.now,
        ...which,
        after?.at ?? 'infinity',
        after?.id ?? '',
        limit + 1,
      ]),
      db.query<{ n: number }>('projects-count', countAll, [...reader, ...which]),
    ])
    const { shown, page } = pageOf(rows, limit, counted?.n ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
    return {
      resourceId: 'list',
      details: { count: shown.length },
      body: {
        data: shown.map(projectView),
        ...page,
      },
    }
  }),

  create: mutation(
    createProject,
    async (ctx, { body }) => {
      const { tx, actor, now } = ctx
      const writer = writerOf(actor)
      if (actor.organisationId === undefined) throw new Problem('forbidden', 'A project belongs to an organisation.')
      const region = body.region ?? null
      requireRegion(regions, region, 'conflict')
      requireStorable(regions, actor.region, 'outside_region')
      const id = newId('prj')
      if (body.group_id !== undefined) await claimGroup(ports, tx, actor, body.group_id)
      const made = await tx.$queryRaw<{ id: string }[]>`
      INSERT INTO projects (id, organisation_id, name, group_id, region, entity_kinds, created_by, created_at, updated_at)
      VALUES (${id}, ${actor.organisationId}, ${body.name}, ${body.group_id ?? id}, ${region},
        ${JSON.stringify(body.entity_kinds ?? {})}::jsonb, ${actor.id}, ${now}, ${now})
      ON CONFLICT (group_id) DO NOTHING RETURNING id`
      if (made.length === 0)
        throw new Problem(
          'conflict',
          'Another project has this group_id; no two share one. Nothing was made: choose another.',
        )
      await tx.projectMember.create({
        data: { projectId: id, kind: writer.kind, memberId: writer.id, role: 'owner', addedBy: actor.id, addedAt: now },
      })
      return {
        body: { data: await projectAsSeen(queryInTransaction(tx), projectReaderOf(ctx), id, now) },
        resourceId: id,
      }
    },
    async (ctx, _input, { id }) => {
      const { name } = await projectAsSeen(queryInTransaction(ctx.tx), projectReaderOf(ctx), String(id), ctx.now)
      return { name }
    },
  ),

  read: read(readProject, async (ctx, { params: { projectId } }) => ({
    body: { data: await projectAsSeen(queryDirectly(db), projectReaderOf(ctx), projectId, ctx.now) },
    resourceId: projectId,
  })),

  edit: mutation(editProject, async (ctx, { params: { projectId }, body }) => {
    const { tx, now } = ctx
    const ask = queryInTransaction(tx)
    const project = await writableProject(ask, projectReaderOf(ctx), projectId, 'change')
    requireOwner(project)
    requireRegion(regions, body.region, 'conflict')
    // An owner can still choose another region, and give the project a name in the same request.
    if (body.name !== undefined && body.region === undefined) requireStorable(regions, project.region, 'conflict')
    await requireConversationsWithin(ask, projectId, body.region)
    await tx.project.update({
      where: { id: projectId },
      data: {
        updatedAt: now,
        ...(body.name !== undefined && { name: body.name }),
        ...(body.region !== undefined && { region: body.region }),
        ...(body.entity_kinds !== undefined && { entityKinds: body.entity_kinds }),
      },
    })
    return {
      body: { data: await projectAsSeen(ask, projectReaderOf(ctx), projectId, now) },
      resourceId: projectId,
      details: { fields: Object.keys(body) },
    }
  }),
})
