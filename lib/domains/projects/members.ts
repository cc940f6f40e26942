import type { Transaction } from '#lib/kernel/context.ts'
import { pageOf } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { isMine, projectReaderOf, readableProject, requireOwner, seenProject, writableProject } from './access.ts'
import { addProjectMember, listProjectMembers, type ProjectMember, removeProjectMember } from './contract.ts'
import { pageValues } from './list-page.ts'
import type { ProjectPorts } from './ports.ts'
import { findInOrganisation, type MemberRow, memberOfProject, membersPage, setMember } from './repository.ts'

const viewOf = (row: MemberRow): ProjectMember => ({ ...row, added_at: row.added_at.toISOString() })

/** @throws {Problem} `conflict` if this is the only owner: a project must have an owner */
async function refuseLastOwner(tx: Transaction, projectId: string, kind: string, memberId: string): Promise<void> {
  const owners = await tx.projectMember.findMany({ where: { projectId, role: 'owner' } })
  if (owners.length === 1 && owners[0]?.kind === kind && owners[0].memberId === memberId)
    throw new Problem(
      'conflict',
      'This is the only owner of the project. Make another member an owner first, or close the project.',
    )
}

/** Use cases for members. The project's row is locked while members change, so that one owner always remains. */
export const projectMembers = ({ db, accountWithAddress }: Pick<ProjectPorts, 'db' | 'accountWithAddress'>) => ({
  members: read(listProjectMembers, async (ctx, { params: { projectId }, query }) => {
    await readableProject(db, projectReaderOf(ctx), projectId)
    const rows = await membersPage(db, { project: projectId, ...pageValues(query) })
    const total = await db.prisma.projectMember.count({ where: { projectId } })
    const { shown, page } = pageOf(rows, query.limit, total, ({ added_at: at, member_id: id }) => ({ at, id }))
    return { resourceId: projectId, details: { count: shown.length }, body: { data: shown.map(viewOf), ...page } }
  }),

  addMember: mutation(
    addProjectMember,
    async (ctx, { params: { projectId }, body: { kind, role, ...body } }) => {
      const { tx, actor, now } = ctx
      const { organisationId: organisation, ...project } = await writableProject(
        tx,
        projectReaderOf(ctx),
        projectId,
        'change',
      )
      requireOwner(project)
      const id = body.member_id ?? (await accountWithAddress(tx, body.email ?? ''))
      // The response is the same for an unknown member and for one of another organization.
      if (id === undefined || (await findInOrganisation(tx, { kind, id, organisation })).length === 0)
        throw new Problem(
          'not_found',
          `The project’s organization has no such ${kind === 'account' ? 'person' : 'agent'}. No member was added.`,
        )
      if (role !== 'owner') await refuseLastOwner(tx, projectId, kind, id)
      await setMember(tx, { project: projectId, kind, id, role, addedBy: actor.id, now })
      const [row] = await memberOfProject(tx, { project: projectId, kind, id })
      if (!row) throw new Problem('conflict', 'The member was removed by another request. Send this request again.')
      return { body: { data: viewOf(row) }, resourceId: id, details: { project: projectId, role } }
    },
    async (ctx, { params: { projectId } }, { kind, member_id }) => {
      await seenProject(ctx.tx, projectReaderOf(ctx), projectId)
      const [row] = await memberOfProject(ctx.tx, { project: projectId, kind: String(kind), id: String(member_id) })
      if (!row) throw new Problem('conflict', 'The member was added, and has been removed since.')
      return { name: row.name }
    },
  ),

  removeMember: mutation(removeProjectMember, async (ctx, { params: { projectId, kind, memberId } }) => {
    const { tx, actor } = ctx
    const project = await writableProject(tx, projectReaderOf(ctx), projectId, 'change')
    const isOneself = isMine(actor, { authorKind: kind, authorId: memberId })
    if (!isOneself) requireOwner(project)
    await refuseLastOwner(tx, projectId, kind, memberId)
    const { count } = await tx.projectMember.deleteMany({ where: { projectId, kind, memberId } })
    if (count === 0) throw new Problem('not_found', 'The project has no such member.')
    return { body: undefined, resourceId: memberId, details: { project: projectId } }
  }),
})
