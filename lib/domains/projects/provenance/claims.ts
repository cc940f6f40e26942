import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { type Issue, invalid, Problem } from '#lib/kernel/problem.ts'
import type { ProjectPorts } from '../ports.ts'
import { isTied, type ReportedPointer } from './pointers.ts'
import { foreignContainers, idsOutsideNamespace, managerOf, organisationOfProject, ownThreads } from './repository.ts'

/** Whether the actor may claim existing data in a shared store for their organization: its managers and admins, in person. */
async function speaksForOrganisation(tx: Transaction, actor: Actor): Promise<boolean> {
  if (actor.kind !== 'person') return false
  if (actor.isAdmin) return true
  const { accountId: account = null, organisationId: organisation = null } = actor
  return (await managerOf(tx, { account, organisation })).length > 0
}

/** The ids that the organization may not claim in connected stores. Admins too assign a namespace first: that needs a password and an approval. */
export async function outsideNamespace(
  tx: Transaction,
  organisationId: string | undefined,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await idsOutsideNamespace(tx, { organisation: organisationId ?? null, ids })
  return new Set(rows.map(({ id }) => id))
}

const namespaceAdvice = (organisationId: string | undefined): string =>
  `Use an id that begins with ${organisationId ?? 'the organization’s id'}_, or ask an admin to assign a namespace.`

/**
 * Checks a claim to a graph group. A project's erasure deletes its group, so an organization may only claim groups in its namespace. Only a
 * manager or an admin may claim a group that already has episodes. @throws {Problem} `invalid`, `unavailable`
 */
export async function claimGroup(
  { hasEpisodes }: Pick<ProjectPorts, 'hasEpisodes'>,
  tx: Transaction,
  actor: Actor,
  group: string,
): Promise<void> {
  if ((await outsideNamespace(tx, actor.organisationId, [group])).size > 0)
    throw invalid(
      ['group_id'],
      `is outside the namespace of your organization. ${namespaceAdvice(actor.organisationId)} The project was not created.`,
    )
  if (!(await hasEpisodes(tx, group)) || (await speaksForOrganisation(tx, actor))) return
  throw invalid(
    ['group_id'],
    'has episodes already, so only a manager of the organization or an admin can create its project. The project was not created.',
  )
}

interface NamedThread {
  thread: string
  path: Issue['path']
}
const ours = /(?:prj|conv)_[0-9A-Za-z]{22}/g

/** Rejects threads that contain an id of another project or of its conversations, even before their first checkpoint. */
async function refuseForeign(
  tx: Transaction,
  projectId: string,
  named: readonly NamedThread[],
  ties: readonly string[],
): Promise<void> {
  const ids = [...new Set(named.flatMap(({ thread }) => thread.match(ours) ?? []))].filter((id) => !ties.includes(id))
  if (ids.length === 0) return
  const others = await foreignContainers(tx, { project: projectId, ids })
  const issues = named
    .filter(({ thread }) => others.some(({ id }) => thread.includes(id)))
    .map(({ path }) => ({ path, message: 'contains the id of another project or of its conversation' }))
  if (issues.length > 0)
    throw new Problem('invalid', { detail: 'Some threads belong to another project. Nothing was stored.', issues })
}

const organisationOf = async (tx: Transaction, project: string): Promise<string | undefined> =>
  (await organisationOfProject(tx, { project }))[0]?.id

/**
 * The threads that the project's organization does not own. A thread that contains one of the generated ids `ties` belongs to the project.
 */
export async function foreignThreads(
  tx: Transaction,
  projectId: string,
  threads: readonly string[],
  ties: readonly string[],
): Promise<ReadonlySet<string>> {
  const untied = threads.filter((thread) => !isTied(thread, ties))
  return untied.length === 0
    ? new Set()
    : outsideNamespace(tx, await organisationOf(tx, projectId), [...new Set(untied)])
}

/** @throws {Problem} `invalid` with every thread outside the namespace of the project's organization */
export async function requireOwnThreads(
  tx: Transaction,
  projectId: string,
  named: readonly NamedThread[],
  ties: readonly string[],
): Promise<void> {
  const threads = named.map(({ thread }) => thread)
  const outside = await foreignThreads(tx, projectId, threads, ties)
  if (outside.size === 0) return
  throw new Problem('invalid', {
    detail: `Some threads are outside the namespace of your organization. ${namespaceAdvice(await organisationOf(tx, projectId))} Nothing was stored.`,
    issues: named
      .filter(({ thread }) => outside.has(thread))
      .map(({ path }) => ({ path, message: 'is outside the namespace of your organization' })),
  })
}

/**
 * Checks a claim to threads. A conversation's erasure deletes its threads, and messages that pointers name are removed from theirs. The
 * organization may only claim threads in its namespace. Only a manager or an admin may claim a thread that already has checkpoints. A
 * thread that contains one of the generated ids `ties` belongs to the project.
 * @throws {Problem} `invalid` with every rejected thread, `unavailable`
 */
export async function claimThreads(
  { withCheckpoints }: Pick<ProjectPorts, 'withCheckpoints'>,
  tx: Transaction,
  actor: Actor,
  projectId: string,
  named: readonly NamedThread[],
  ties: readonly string[],
): Promise<void> {
  await refuseForeign(tx, projectId, named, ties)
  await requireOwnThreads(tx, projectId, named, ties)
  const untied = named.filter(({ thread }) => !isTied(thread, ties))
  if (untied.length === 0) return
  const present = new Set(await withCheckpoints(tx, [...new Set(untied.map(({ thread }) => thread))]))
  const issues = untied
    .filter(({ thread }) => present.has(thread))
    .map(({ path }) => ({ path, message: 'has checkpoints already' }))
  if (issues.length === 0 || (await speaksForOrganisation(tx, actor))) return
  throw new Problem('invalid', {
    detail:
      'Some threads have checkpoints already. Name a thread before its first checkpoint, or ask a manager of the organization or an admin to name it. Nothing was stored.',
    issues,
  })
}

/** Claims the threads that pointers name and that the project does not have yet. Throws as {@link claimThreads}. */
export async function claimPlaces(
  ports: Pick<ProjectPorts, 'withCheckpoints'>,
  tx: Transaction,
  actor: Actor,
  projectId: string,
  reported: readonly ReportedPointer[],
): Promise<void> {
  const named = reported.flatMap(({ store, place = '', path, source }) =>
    store === 'checkpoints' && place !== '' ? [{ thread: place, source, path: [...path, 'place'] }] : [],
  )
  if (named.length === 0) return
  const rows = await ownThreads(tx, {
    project: projectId,
    threads: named.map(({ thread }) => thread),
    sources: named.map(({ source }) => source),
  })
  const own = new Set(rows.map(({ thread }) => thread))
  const others = named.filter(({ thread }) => !own.has(thread))
  await claimThreads(ports, tx, actor, projectId, others, [projectId])
}
