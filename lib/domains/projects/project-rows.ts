import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { noProject, type ProjectReader } from './access.ts'
import type { ProjectView } from './contract.ts'
import { type ProjectRow, projectForReader } from './repository.ts'

/** @throws {Problem} `not_found` if the reader is no member and has no office over the project */
export function projectView(row: ProjectRow): ProjectView {
  const role = row.role ?? row.office
  if (role === null) throw noProject()
  const time = (at: Date | null) => at?.toISOString() ?? null
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    role,
    group_id: row.group_id,
    region: row.region,
    entity_kinds: row.entity_kinds,
    allows_redaction: row.allows_redaction,
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
export async function projectAsSeen(on: Queryable, reader: ProjectReader, id: string, now: Date): Promise<ProjectView> {
  const [row] = await projectForReader(on, { ...reader, id, now })
  if (!row) throw noProject()
  return projectView(row)
}
