import type { Actor, Context } from '#lib/kernel/context.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import type { ProjectView } from './contract.ts'
import type { ProjectPorts } from './ports.ts'
import { type ProjectLock, type ProjectRow, projectForReader, projectOfReader, type SeenProject } from './repository.ts'
import type { MemberKind } from './rules.ts'

/**
 * The identity that determines a reader's rights to projects. A person participates directly and through agents that they own; an agent
 * only by itself. All members of a project belong to its organization.
 */
export interface ProjectReader {
  account: string | null
  agents: readonly string[]
  organisation: string | null
  isAdmin: boolean
}
export const projectReaderOf = ({ actor }: Pick<Context, 'actor'>): ProjectReader => ({
  account: actor.accountId ?? null,
  agents: actor.agents,
  organisation: actor.organisationId ?? null,
  isAdmin: actor.isAdmin,
})
const noProject = (): Problem =>
  new Problem('not_found', 'This project does not exist, or you do not have access to it.')
const isErasing = (): Problem =>
  new Problem('fenced', 'The project is being erased, so it accepts no changes. Nothing was stored.')
/** The problem that members get for erased data. */
export const wasErased = (receiptId: string): Problem =>
  new Problem('erased', {
    detail: 'This data was erased. See its receipt for details.',
    extensions: { receipt_id: receiptId },
    headers: { Link: `</v1/receipts/${receiptId}>; rel="related"` },
  })

function stillOpen(project: SeenProject): SeenProject {
  if (project.status === 'closed') throw noProject()
  if (project.erasingSince !== null) throw isErasing()
  return project
}

const found = async (
  on: Queryable,
  reader: ProjectReader,
  id: string,
  lock: ProjectLock = 'none',
): Promise<SeenProject | undefined> => (await projectOfReader(on, { ...reader, id }, lock))[0]

/** The project as the reader sees it, by membership or office. @throws {Problem} `not_found` */
export async function seenProject(...which: Parameters<typeof found>): Promise<SeenProject> {
  const project = await found(...which)
  if (!project || (project.role === null && project.office === null)) throw noProject()
  return project
}

/** A project whose content the reader may read. @throws {Problem} `not_found`, also while it is being erased */
export async function readableProject(on: Queryable, reader: ProjectReader, id: string): Promise<SeenProject> {
  const project = await seenProject(on, reader, id)
  if (project.role === null || project.erasingSince !== null || project.status === 'closed') throw noProject()
  return project
}

/**
 * A project to which the reader may write. Writes to parts that are being erased are rejected by the database.
 * @throws {Problem} `not_found`, `fenced` while the project is being erased
 */
export async function writableProject(...which: Parameters<typeof found>): Promise<SeenProject> {
  const project = await seenProject(...which)
  if (project.role === null) throw noProject()
  return stillOpen(project)
}

/**
 * A project in which new content can be stored: {@link writableProject}, while its region is available here.
 * @throws {Problem} `not_found`, `fenced`, `conflict`
 */
export async function storableProject(
  { regions }: Pick<ProjectPorts, 'regions'>,
  ...which: Parameters<typeof found>
): Promise<SeenProject> {
  const project = await writableProject(...which)
  requireStorable(regions, project.region, 'conflict')
  return project
}

/** A project in which an author erases their own data, even if they are no longer a member. Throws as {@link writableProject}. */
export async function projectOfAuthor(on: Queryable, reader: ProjectReader, id: string): Promise<SeenProject> {
  const project = await found(on, reader, id)
  if (!project) throw noProject()
  return stillOpen(project)
}

/** @throws {Problem} `forbidden` if the reader is not an owner */
export function requireOwner({ role }: Pick<SeenProject, 'role'>): void {
  if (role !== 'owner') throw new Problem('forbidden', 'Only owners of the project can do this. Ask an owner.')
}
/** Whether the reader may close the project: owners, managers of its organization, admins. */
export const mayCloseProject = ({ role, office }: SeenProject): boolean => role === 'owner' || office !== null

export interface AuthorFields {
  authorKind: string
  authorId: string
  /** The agent that wrote on behalf of a participant. */
  writtenBy?: string | null
  /** The account that claimed the author's participation. */
  claimedBy?: string | null
}
/** Whether the actor or an agent of theirs wrote it, or it was written on behalf of a participation that the actor claimed. */
export function isMine(
  actor: Pick<Actor, 'accountId' | 'agents'>,
  { authorKind, authorId, writtenBy, claimedBy }: AuthorFields,
): boolean {
  if (authorKind === 'account') return authorId === actor.accountId
  if (authorKind === 'agent') return actor.agents.includes(authorId)
  const isWriter = typeof writtenBy === 'string' && actor.agents.includes(writtenBy)
  return isWriter || (typeof claimedBy === 'string' && claimedBy === actor.accountId)
}
/** Whether the actor may erase a message or document: its author and the owners of the project. */
export const mayErase = (project: SeenProject, actor: Actor, authored: AuthorFields): boolean =>
  project.role === 'owner' || isMine(actor, authored)

/** The actor as rows store an author. @throws {Problem} `forbidden` if the actor is neither a person nor an agent */
export function writerOf({ kind, accountId, id }: Actor): { kind: MemberKind; id: string } {
  if (kind === 'person' && accountId !== undefined) return { kind: 'account', id: accountId }
  if (kind === 'agent') return { kind: 'agent', id }
  throw new Problem('forbidden', 'Only people and agents can write to projects. Sign in, or use the token of an agent.')
}

/** @throws {Problem} `not_found` if the reader is no member and has no office over the project */
export function projectView(row: ProjectRow): ProjectView {
  const role = row.role ?? row.office
  if (role === null) throw noProject()
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
    created_at: row.created_at,
    updated_at: row.updated_at,
    closing_at: row.closing_at,
    closes_at: row.closes_at,
    is_held: row.is_held,
    is_erasing: row.erasing_since !== null && row.status !== 'closed',
    closed_at: row.closed_at,
    receipt_id: row.status === 'closed' ? row.receipt_id : null,
  }
}

/** The project as its reader currently sees it. @throws {Problem} `not_found` for others */
export async function projectAsSeen(on: Queryable, reader: ProjectReader, id: string, now: Date): Promise<ProjectView> {
  const [row] = await projectForReader(on, { ...reader, id, now })
  if (!row) throw noProject()
  return projectView(row)
}
