import { Problem } from '#lib/kernel/problem.ts'
import type { ProjectQuery } from './access.ts'
import { officeOf, type ProjectReader, projectRoleSql, readerValues } from './access.ts'
import type { ProjectView } from './contract.ts'
import type { MemberRole, ProjectStatus } from './rules.ts'

export interface ProjectRow {
  id: string
  name: string
  status: ProjectStatus
  role: MemberRole | null
  office: 'manager' | 'admin' | null
  group_id: string
  region: string | null
  entity_kinds: Record<string, 'person' | 'business'>
  members: number
  conversations: number
  documents: number
  participants: number
  created_at: Date
  updated_at: Date
  closing_at: Date | null
  closes_at: Date | null
  is_held: boolean
  erasing_since: Date | null
  closed_at: Date | null
  receipt_id: string | null
}
/** SQL: columns of a project `p`, for the reader in `$1` to `$4`, at the time `$5`. */
export const projectColumns = `p.id, p.name, p.status, ${projectRoleSql} AS role, ${officeOf} AS office, p.group_id, p.region, p.entity_kinds,
  (SELECT count(*)::int FROM project_members c WHERE c.project_id = p.id) AS members,
  (SELECT count(*)::int FROM conversations c WHERE c.project_id = p.id AND c.erasing_since IS NULL) AS conversations,
  (SELECT count(*)::int FROM documents c WHERE c.project_id = p.id AND c.erasing_since IS NULL) AS documents,
  (SELECT count(*)::int FROM project_participants c WHERE c.project_id = p.id) AS participants,
  p.created_at, p.updated_at, p.closing_at, p.closes_at, p.erasing_since, p.closed_at, p.receipt_id,
  EXISTS (SELECT FROM holds_in_force h WHERE h.kind = 'project' AND h.target_id = p.id AND (h.expires_at IS NULL OR h.expires_at > $5::timestamptz)) AS is_held`

export function projectView(row: ProjectRow): ProjectView {
  const role = row.role ?? row.office
  if (role === null) throw new Problem('not_found')
  const time = (at: Date | null) => at?.toISOString() ?? null
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    role,
    group_id: row.group_id,
    region: row.region,
    entity_kinds: row.entity_kinds,
    members: row.members,
    conversations: row.conversations,
    documents: row.documents,
    participants: row.participants,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    closing_at: time(row.closing_at),
    closes_at: time(row.closes_at),
    is_held: row.is_held,
    is_erasing: row.erasing_since !== null && row.status !== 'closed',
    closed_at: time(row.closed_at),
    receipt_id: row.status === 'closed' ? row.receipt_id : null,
  }
}

/** The project as its reader currently sees it. @throws {Problem} `not_found` for others */
export async function projectAsSeen(
  ask: ProjectQuery,
  reader: ProjectReader,
  projectId: string,
  now: Date,
): Promise<ProjectView> {
  const [row] = await ask<ProjectRow>('project-view', `SELECT ${projectColumns} FROM projects p WHERE p.id = $6`, [
    ...readerValues(reader),
    now,
    projectId,
  ])
  if (!row || (row.role === null && row.office === null))
    throw new Problem('not_found', 'There is no such project, or you take no part in it.')
  return projectView(row)
}
