import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { storedForms } from '#lib/kernel/address-forms.ts'
import type { Actor, Context, Transaction } from '#lib/kernel/context.ts'
import type { ProjectPart, Subject } from '#lib/kernel/erasure-scope.ts'
import { namePatterns } from '#lib/kernel/name-search.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { projectReaderOf } from './access.ts'
import { closingProjects } from './closing/repository.ts'
import { authorsOfDerivedDocuments, claimantsOf, recordedInPart } from './erasing/repository.ts'
import { writersOf } from './legal-holds.ts'
import { findOwnedMembership, projectsWithUnconfirmed, unconfirmedWithoutOwner } from './participants/repository.ts'
import { countProjectsInRegions, foundProjects, oldestProjectsInRegions } from './repository.ts'
import { countSharedOwnedProjects, identitiesOf } from './rows/repository.ts'

/** Finds projects by name or id: those of the reader, and those that managers and admins see in their list. */
export const findProjects = (
  db: Database,
  ctx: Pick<Context, 'actor'>,
  q: string,
  limit: number,
): Promise<{ id: string; name: string }[]> =>
  foundProjects(db, { ...projectReaderOf(ctx), ...namePatterns(q), id: q, all: true, status: null, limit })

/** Number of all projects, also closed ones. */
export const countProjects = (tx: Transaction): Promise<number> => tx.project.count()

/** Number of projects whose data must stay in a region other than the given ones. */
export const projectsInRegions = async (on: Queryable, except: readonly string[]): Promise<number> =>
  (await countProjectsInRegions(on, { except }))[0]?.n ?? 0

/** Ids of the oldest of these projects, at most `max`. */
export const projectIdsInRegions = async (on: Queryable, except: readonly string[], max: number): Promise<string[]> =>
  (await oldestProjectsInRegions(on, { except, limit: max })).map(({ id }) => id)

/** Whether a row of a project names an object in the object store. */
export const projectsNameObjects = async (ask: (text: string, values: unknown[]) => Promise<unknown[]>) =>
  (await ask('SELECT 1 FROM attachments UNION ALL SELECT 1 FROM documents LIMIT 1', [])).length > 0

/** The reader's projects that are closing, by closing time. For an overview, so it counts no content. */
export const closingSoon = (
  db: Database,
  { accountId, agents, organisationId }: Pick<Actor, 'accountId' | 'agents' | 'organisationId'>,
  limit: number,
): Promise<{ id: string; name: string; closesAt: Date }[]> =>
  closingProjects(db, { account: accountId ?? null, agents, organisation: organisationId ?? null, limit })

/** The projects that the reader owns with reported addresses to confirm, and how many. */
export const unconfirmedAddresses = (
  db: Database,
  { accountId, agents, organisationId }: Pick<Actor, 'accountId' | 'agents' | 'organisationId'>,
  limit: number,
): Promise<{ id: string; name: string; n: number }[]> =>
  projectsWithUnconfirmed(db, { account: accountId ?? '', agents, organisation: organisationId ?? null, limit })

/** Projects with reported addresses that only an admin can confirm, because no person owns them. */
export const addressesForAdmins = (db: Database, limit: number): Promise<{ id: string; name: string; at: Date }[]> =>
  unconfirmedWithoutOwner(db, { limit })

/** The ids of the participations that the account claimed, sorted. */
export async function participationsOf(tx: Transaction, accountId: string): Promise<string[]> {
  const rows = await tx.projectParticipant.findMany({
    where: { accountId },
    select: { id: true },
    orderBy: { id: 'asc' },
  })
  return rows.map(({ id }) => id)
}

/** Counts the open projects that the subject owns and that others use. An erasure of the subject does not delete them. */
export const countRemainingProjects = async (db: Database, { account, agents }: Subject): Promise<number> => {
  const participants = account === null ? [] : await participationsOf(db.prisma, account)
  const [row] = await countSharedOwnedProjects(db, identitiesOf({ account, agents, participants }))
  return row?.n ?? 0
}

/**
 * Counts the participations with the verified address of an account that no account has claimed. An erasure of the account does not reach them.
 * The account can claim those whose address is confirmed.
 */
export async function countUnclaimedParticipations(
  db: Database,
  account: string,
): Promise<{ confirmed: number; others: number }> {
  const email = await accountDirectory.verifiedAddressOf(db.prisma, account)
  if (email === undefined) return { confirmed: 0, others: 0 }
  const count = (emailConfirmed: boolean) =>
    db.prisma.projectParticipant.count({
      where: { email: { in: storedForms(email) }, emailConfirmed, accountId: null },
    })
  return { confirmed: await count(true), others: await count(false) }
}

/**
 * Those of the uuids that are episodes of another group, and not of this one. An erasure never follows a pointer out of its group, so such a
 * pointer would have no effect. While the graph does not answer, none is returned: a report of provenance does not wait for it.
 */
export const foreignEpisodes =
  (graph: Pick<GraphStore, 'groupsOf' | 'episodesById'>) =>
  async (tx: Transaction, group: string, uuids: readonly string[]): Promise<readonly string[]> => {
    try {
      const groups = await graph.groupsOf(uuids, tx)
      const elsewhere = [...groups].flatMap(([uuid, found]) => (found === group ? [] : [uuid]))
      if (elsewhere.length === 0) return []
      // A copy of a group keeps the uuids of its episodes.
      const here = new Set((await graph.episodesById(group, elsewhere, tx)).map(({ uuid }) => uuid))
      return elsewhere.filter((uuid) => !here.has(uuid))
    } catch (error) {
      if (Problem.is(error) && error.code === 'unavailable') return []
      throw error
    }
  }

/** People and agents with records in the erasure scope. Their existing exports may contain these records. */
export async function recordedOf(
  tx: Transaction,
  scope: { part: ProjectPart } | { subject: Subject },
): Promise<{ accounts: string[]; agents: string[] }> {
  const rows =
    'part' in scope
      ? await recordedInPart(tx, { id: scope.part.id }, scope.part.kind)
      : await authorsOfDerivedDocuments(tx, writersOf(scope.subject))
  const named = (wanted: string) => rows.flatMap(({ kind, id }) => (kind === wanted ? [id] : []))
  const ofSubject = 'subject' in scope ? (scope.subject.participants ?? []) : []
  const claimed = await claimantsOf(tx, { participants: [...named('participant'), ...ofSubject] })
  return { accounts: [...named('account'), ...claimed.map(({ id }) => id)], agents: named('agent') }
}

/** Whether the project exists and is not closed. Only such a project can be put under legal hold. */
export const isProject = async (tx: Transaction, id: string): Promise<boolean> =>
  (await tx.project.count({ where: { id, status: { not: 'closed' } } })) > 0

/** Returns names by project id. Closed projects have none. */
export async function projectNames(tx: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await tx.project.findMany({
    where: { id: { in: [...ids] }, name: { not: '' } },
    select: { id: true, name: true },
  })
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Whether the first account owns a project of which the second account is a member. */
export const ownsProjectOf = async (on: Queryable, owner: string, member: string): Promise<boolean> =>
  owner !== member && (await findOwnedMembership(on, { owner, member })).length > 0
