import { claimGroup } from '#lib/domains/projects/provenance/claims.ts'
import { requireRegion, requireStorable } from '#lib/kernel/data-regions.ts'
import { newId } from '#lib/kernel/ids.ts'
import { pageOf } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { isWithin } from '#lib/kernel/region-rules.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { projectReaderOf, requireOwner, writableProject, writerOf } from './access.ts'
import { createProject, editProject, listProjects, readProject } from './contract.ts'
import { pageValues } from './list-page.ts'
import type { ProjectPorts } from './ports.ts'
import { projectAsSeen, projectView } from './project-rows.ts'
import { countListedProjects, insertProject, projectsPage, regionsOfConversations } from './repository.ts'

/** @throws {Problem} `conflict` if a conversation of the project requires data outside of the new region */
async function requireConversationsWithin(on: Queryable, project: string, region: string | null | undefined) {
  if (region == null) return
  const rows = await regionsOfConversations(on, { project })
  if (rows.some((row) => !isWithin(row.region, region)))
    throw new Problem(
      'conflict',
      `A conversation of this project has a region outside of ${region}. Choose a region that includes it. Nothing was changed.`,
    )
}

/** Use cases to list, create, read and edit projects. */
export const ownedProjects = ({ db, regions, ...ports }: Pick<ProjectPorts, 'db' | 'regions' | 'hasEpisodes'>) => ({
  list: read(listProjects, async (ctx, { query: { all, status = null, ...query } }) => {
    const listed = { ...projectReaderOf(ctx), all, status }
    const [rows, [counted]] = await Promise.all([
      projectsPage(db, { ...listed, ...pageValues(query), now: ctx.now }),
      countListedProjects(db, listed),
    ])
    const { shown, page } = pageOf(rows, query.limit, counted?.n ?? 0, ({ created_at: at, id }) => ({ at, id }))
    return { resourceId: 'list', details: { count: shown.length }, body: { data: shown.map(projectView), ...page } }
  }),

  create: mutation(
    createProject,
    async (ctx, { body: { name, region = null, group_id, entity_kinds: entityKinds = {} } }) => {
      const { tx, actor, now } = ctx
      const writer = writerOf(actor)
      const { organisationId: organisation, id: createdBy } = actor
      if (organisation === undefined)
        throw new Problem('forbidden', 'Your account has no organization, and every project belongs to one.')
      requireRegion(regions, region, 'conflict')
      requireStorable(regions, actor.region, 'outside_region')
      const id = newId('prj')
      if (group_id !== undefined) await claimGroup(ports, tx, actor, group_id)
      const values = { id, organisation, name, group: group_id ?? id, region, entityKinds, createdBy, now }
      if ((await insertProject(tx, values)) === 0)
        throw new Problem('conflict', 'Another project has this group_id. Choose another one. No project was created.')
      await tx.projectMember.create({
        data: {
          projectId: id,
          kind: writer.kind,
          memberId: writer.id,
          role: 'owner',
          addedBy: createdBy,
          addedAt: now,
        },
      })
      return { body: { data: await projectAsSeen(tx, projectReaderOf(ctx), id, now) }, resourceId: id }
    },
    async (ctx, _input, { id }) => {
      const { name } = await projectAsSeen(ctx.tx, projectReaderOf(ctx), String(id), ctx.now)
      return { name }
    },
  ),

  read: read(readProject, async (ctx, { params: { projectId } }) => ({
    body: { data: await projectAsSeen(db, projectReaderOf(ctx), projectId, ctx.now) },
    resourceId: projectId,
  })),

  edit: mutation(editProject, async (ctx, { params: { projectId }, body }) => {
    const { tx, now } = ctx
    const project = await writableProject(tx, projectReaderOf(ctx), projectId, 'change')
    requireOwner(project)
    requireRegion(regions, body.region, 'conflict')
    // An owner can still choose another region, and give the project a name in the same request.
    if (body.name !== undefined && body.region === undefined) requireStorable(regions, project.region, 'conflict')
    await requireConversationsWithin(tx, projectId, body.region)
    await tx.project.update({
      where: { id: projectId },
      data: {
        updatedAt: now,
        ...(body.name !== undefined && { name: body.name }),
        ...(body.region !== undefined && { region: body.region }),
        ...(body.entity_kinds !== undefined && { entityKinds: body.entity_kinds }),
        ...(body.allows_redaction !== undefined && { allowsRedaction: body.allows_redaction }),
      },
    })
    return {
      body: { data: await projectAsSeen(tx, projectReaderOf(ctx), projectId, now) },
      resourceId: projectId,
      details: { fields: Object.keys(body) },
    }
  }),
})
