import type { Actor, Context, Transaction } from '#lib/kernel/context.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import type { ProjectPorts } from './ports.ts'
import type { MemberKind, MemberRole, ProjectStatus } from './rules.ts'

/** Runs one statement, inside a transaction or without one. */
export type ProjectQuery = <R extends object>(name: string, text: string, values: readonly unknown[]) => Promise<R[]>
export const queryDirectly = (db: Database): ProjectQuery => db.query
export const queryInTransaction =
  (tx: Transaction): ProjectQuery =>
  (name, text, values) =>
    queryWithin(tx, name, text, values)

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
/** The values `$1` to `$4` of {@link projectRoleSql} and {@link officeOf}. */
export const readerValues = ({ account, agents, organisation, isAdmin }: ProjectReader): unknown[] => [
  account,
  agents,
  organisation,
  isAdmin,
]

/**
 * SQL: the reader's role in the project `p`; null for non-members. Only members may read content, including admins. Uses all four values.
 */
export const projectRoleSql = `(SELECT min(m.role) FROM project_members m WHERE m.project_id = p.id AND p.organisation_id = $3
    AND $4::boolean IS NOT NULL AND ((m.kind = 'account' AND m.member_id = $1) OR (m.kind = 'agent' AND m.member_id = ANY($2::text[]))))`
/** SQL: the office with which the reader may see that the project `p` exists and close it: `admin`, `manager`, or null. */
export const officeOf = `(CASE WHEN $4::boolean THEN 'admin' WHEN EXISTS (SELECT FROM account_names n WHERE n.id = $1 AND n.role = 'manager'
    AND n.organisation_id = p.organisation_id) THEN 'manager' END)`
/** SQL: the projects in which the reader participates, looked up by member. */
export const ownProjects = `(SELECT m.project_id FROM project_members m WHERE (m.kind = 'account' AND m.member_id = $1)
    OR (m.kind = 'agent' AND m.member_id = ANY($2::text[])))`

export interface SeenProject {
  id: string
  organisationId: string
  status: ProjectStatus
  groupId: string
  region: string | null
  createdAt: Date
  closingAt: Date | null
  closesAt: Date | null
  erasingSince: Date | null
  role: MemberRole | null
  office: 'manager' | 'admin' | null
}
const seenColumns = `p.id, p.organisation_id AS "organisationId", p.status, p.group_id AS "groupId", p.region, p.created_at AS "createdAt",
  p.closing_at AS "closingAt", p.closes_at AS "closesAt", p.erasing_since AS "erasingSince"`
const selectSeen = `SELECT ${seenColumns}, ${projectRoleSql} AS role, ${officeOf} AS office FROM projects p WHERE p.id = $5`
/** `change` waits for concurrent changes of the project; `erase` also waits for writes into it. */
const locks = { none: '', change: ' FOR NO KEY UPDATE OF p', erase: ' FOR UPDATE OF p' } as const

const noProject = (): Problem => new Problem('not_found', 'There is no such project, or you take no part in it.')
const isErasing = (): Problem =>
  new Problem('fenced', 'The project is being erased: nothing more is written into it. Nothing of this was kept.')
/** The problem that members get for erased data. */
export const wasErased = (receiptId: string): Problem =>
  new Problem('erased', {
    detail: 'It was erased; the receipt says how.',
    extensions: { receipt_id: receiptId },
    headers: { Link: `</v1/receipts/${receiptId}>; rel="related"` },
  })

function stillOpen(found: SeenProject): SeenProject {
  if (found.status === 'closed') throw noProject()
  if (found.erasingSince !== null) throw isErasing()
  return found
}

async function projectFor(
  ask: ProjectQuery,
  reader: ProjectReader,
  projectId: string,
  lock: keyof typeof locks = 'none',
): Promise<SeenProject | undefined> {
  const [found] = await ask<SeenProject>(`project-seen-${lock}`, `${selectSeen}${locks[lock]}`, [
    ...readerValues(reader),
    projectId,
  ])
  return found
}

/** The project as the reader sees it, by membership or office. @throws {Problem} `not_found` */
export async function seenProject(...which: Parameters<typeof projectFor>): Promise<SeenProject> {
  const found = await projectFor(...which)
  if (!found || (found.role === null && found.office === null)) throw noProject()
  return found
}

/** A project whose content the reader may read. @throws {Problem} `not_found`, also while it is being erased */
export async function readableProject(
  ask: ProjectQuery,
  reader: ProjectReader,
  projectId: string,
): Promise<SeenProject> {
  const found = await seenProject(ask, reader, projectId)
  if (found.role === null || found.erasingSince !== null || found.status === 'closed') throw noProject()
  return found
}

/**
 * A project to which the reader may write. Writes to parts that are being erased are rejected by the database.
 * @throws {Problem} `not_found`, `fenced` while the project is being erased
 */
export async function writableProject(
  ask: ProjectQuery,
  reader: ProjectReader,
  projectId: string,
  lock: keyof typeof locks = 'none',
): Promise<SeenProject> {
  const found = await seenProject(ask, reader, projectId, lock)
  if (found.role === null) throw noProject()
  return stillOpen(found)
}

/**
 * A project in which new content can be stored: {@link writableProject}, while its region is available here.
 * @throws {Problem} `not_found`, `fenced`, `conflict`
 */
export async function storableProject(
  { regions }: Pick<ProjectPorts, 'regions'>,
  ...which: Parameters<typeof writableProject>
): Promise<SeenProject> {
  const project = await writableProject(...which)
  requireStorable(regions, project.region, 'conflict')
  return project
}

/** A project in which an author erases their own data, even if they are no longer a member. Throws as {@link writableProject}. */
export async function projectOfAuthor(
  ask: ProjectQuery,
  reader: ProjectReader,
  projectId: string,
): Promise<SeenProject> {
  const found = await projectFor(ask, reader, projectId)
  if (!found) throw noProject()
  return stillOpen(found)
}

/** @throws {Problem} `forbidden` if the reader is not an owner */
export function requireOwner({ role }: SeenProject): void {
  if (role !== 'owner') throw new Problem('forbidden', 'The owners of the project do this.')
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
/** SQL: the account that claimed the participation of the author of a row; null for other authors. */
export const claimantSql = (alias: string): string =>
  `(SELECT pc.account_id FROM project_participants pc WHERE ${alias}.author_kind = 'participant' AND pc.id = ${alias}.author_id)`
/** Whether the actor may erase a message or document: its author and the owners of the project. */
export const mayErase = (project: SeenProject, actor: Actor, authored: AuthorFields): boolean =>
  project.role === 'owner' || isMine(actor, authored)

/** The actor as rows store an author. @throws {Problem} `forbidden` if the actor is neither a person nor an agent */
export function writerOf({ kind, accountId, id }: Actor): { kind: MemberKind; id: string } {
  if (kind === 'person' && accountId !== undefined) return { kind: 'account', id: accountId }
  if (kind === 'agent') return { kind: 'agent', id }
  throw new Problem('forbidden', 'People and agents take part in projects.')
}

/** SQL: an author as the API shows one, with the current name. Parameters: columns with the author's kind and id. */
export const writerSql = (kind: string, id: string): string => `json_build_object('kind', ${kind}, 'id', ${id}, 'name',
    CASE ${kind} WHEN 'account' THEN (SELECT w.name FROM account_names w WHERE w.id = ${id})
      WHEN 'participant' THEN (SELECT coalesce(w.name, w.external_id) FROM project_participants w WHERE w.id = ${id}) ELSE (SELECT coalesce(w.name, w.id) FROM agent_names w WHERE w.id = ${id}) END)`
/** SQL: the same from a column with an actor as in the audit log: an agent's id, or `user:<account>`. */
export const doerSql = (doer: string): string =>
  writerSql(
    `(CASE WHEN starts_with(${doer}, 'user:') THEN 'account' ELSE 'agent' END)`,
    `(CASE WHEN starts_with(${doer}, 'user:') THEN substr(${doer}, 6) ELSE ${doer} END)`,
  )
