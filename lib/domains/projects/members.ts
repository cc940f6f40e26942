import type { Transaction } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import {
  isMine,
  projectReaderOf,
  queryDirectly,
  queryInTransaction,
  readableProject,
  requireOwner,
  seenProject,
  writableProject,
} from './access.ts'
import { addProjectMember, listProjectMembers, type ProjectMember, removeProjectMember } from './contract.ts'
import type { ProjectPorts } from './ports.ts'
import type { MemberKind, MemberRole } from './rules.ts'

interface MemberRow {
  kind: MemberKind
  member_id: string
  name: string | null
  role: MemberRole
  added_at: Date
}
const selectMember = () =>
  `SELECT ${memberColumns} FROM project_members m WHERE m.project_id = $1 AND m.kind = $2 AND m.member_id = $3`
const memberColumns = `m.kind, m.member_id, m.role, m.added_at, CASE m.kind
  WHEN 'account' THEN (SELECT n.name FROM account_names n WHERE n.id = m.member_id)
  ELSE (SELECT coalesce(n.name, n.id) FROM agent_names n WHERE n.id = m.member_id) END AS name`
const viewOf = (row: MemberRow): ProjectMember => ({ ...row, added_at: row.added_at.toISOString() })

/** SQL: whether the organization has this agent, or this person with an open account. */
const isThere = `SELECT 1 AS found WHERE CASE $1 WHEN 'account'
  THEN EXISTS (SELECT FROM account_names n WHERE n.id = $2 AND n.organisation_id = $3 AND n.is_open)
  ELSE EXISTS (SELECT FROM agent_names n WHERE n.id = $2 AND n.organisation_id = $3) END`

/** @throws {Problem} `conflict` if this is the only owner: a project must have an owner */
async function refuseLastOwner(tx: Transaction, projectId: string, kind: string, memberId: string): Promise<void> {
  const owners = await tx.projectMember.findMany({ where: { projectId, role: 'owner' } })
  if (owners.length === 1 && owners[0]?.kind === kind && owners[0].memberId === memberId)
    throw new Problem('conflict', 'This is the last owner. Make somebody else an owner first, or close the project.')
}

/** Use cases for members. The project's row is locked while members change, so that one owner always remains. */
export const projectMembers = ({ db, accountWithAddress }: Pick<ProjectPorts, 'db' | 'accountWithAddress'>) => ({
  members: read(listProjectMembers, async (ctx, { params: { projectId }, query: { cursor, limit } }) => {
    const ask = queryDirectly(db)
    await readableProject(ask, projectReaderOf(ctx), projectId)
    const after = parseCursor(cursor)
    const rows = await ask<MemberRow>(
      'project-members-page',
      `SELECT ${memberColumns} FROM project_members m WHERE m.project_id = $1 AND (m.added_at, m.member_id) < ($2::timestamptz, $3)
       ORDER BY m.added_at DESC, m.member_id DESC LIMIT $4`,
      [projectId, after?.at ?? 'infinity', after?.id ?? '', limit + 1],
    )
    const total = await db.prisma.projectMember.count({ where: { projectId } })
    const { shown, page } = pageOf(rows, limit, total, ({ added_at, member_id }) => ({ at: added_at, id: member_id }))
    return {
      resourceId: projectId,
      details: { count: shown.length },
      body: {
        data: shown.map(viewOf),
        ...page,
      },
    }
  }),

  addMember: mutation(
    addProjectMember,
    async (ctx, { params: { projectId }, body }) => {
      const { tx, actor, now } = ctx
      const ask = queryInTransaction(tx)
      const project = await writableProject(ask, projectReaderOf(ctx), projectId, 'change')
      requireOwner(project)
      const memberId = body.member_id ?? (await accountWithAddress(tx, body.email ?? ''))
      const found =
        memberId === undefined
          ? []
          : await ask('is-in-organisation', isThere, [body.kind, memberId, project.organisationId])
      // The response is the same for an unknown member and for one of another organization.
      if (memberId === undefined || found.length === 0)
        throw new Problem(
          'not_found',
          `The organisation of this project has no such ${body.kind === 'account' ? 'person' : 'agent'}. Nobody was added.`,
        )
      if (body.role !== 'owner') await refuseLastOwner(tx, projectId, body.kind, memberId)
      await tx.$executeRaw`INSERT INTO project_members (project_id, kind, member_id, role, added_by, added_at)
      VALUES (${projectId}, ${body.kind}, ${memberId}, ${body.role}::project_role, ${actor.id}, ${now})
      ON CONFLICT (project_id, kind, member_id) DO UPDATE SET role = excluded.role`
      const [row] = await ask<MemberRow>('project-member', selectMember(), [projectId, body.kind, memberId])
      if (!row) throw new Problem('conflict', 'The member was removed meanwhile. Send it again.')
      return { body: { data: viewOf(row) }, resourceId: memberId, details: { project: projectId, role: body.role } }
    },
    async (ctx, { params: { projectId } }, { kind, member_id }) => {
      const ask = queryInTransaction(ctx.tx)
      await seenProject(ask, projectReaderOf(ctx), projectId)
      const [row] = await ask<MemberRow>('project-member', selectMember(), [projectId, kind, member_id])
      if (!row) throw new Problem('conflict', 'This was carried out, and the member was removed since.')
      return { name: viewOf(row).name }
    },
  ),

  removeMember: mutation(removeProjectMember, async (ctx, { params: { projectId, kind, memberId } }) => {
    const { tx, actor } = ctx
    const project = await writableProject(queryInTransaction(tx), projectReaderOf(ctx), projectId, 'change')
    const isOneself = isMine(actor, { authorKind: kind, authorId: memberId })
    if (!isOneself) requireOwner(project)
    await refuseLastOwner(tx, projectId, kind, memberId)
    const { count } = await tx.projectMember.deleteMany({ where: { projectId, kind, memberId } })
    if (count === 0) throw new Problem('not_found', 'Nobody of that name takes part in this project.')
    return { body: undefined, resourceId: memberId, details: { project: projectId } }
  }),
})
