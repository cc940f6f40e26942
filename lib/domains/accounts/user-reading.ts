import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { accountDirectory } from './directory.ts'
import { noAccount } from './inviting.ts'
import { listOrganisationRows } from './organisations/repository.ts'
import { countUsersByState, userDetail } from './repository.ts'
import { userPage, userRow, userView } from './user-rows.ts'
import { listOrganisations, listUsers, readUser, type UserDetail } from './users-contract.ts'

interface ReadingDeps {
  db: Database
  /** Returns the number of agents that the person owns. */
  agentsOf(accountId: string): Promise<number>
  /** Returns the number of open privacy requests about the person or one of their agents. */
  openRequestsOf(accountId: string): Promise<number>
}

async function detailOf(deps: ReadingDeps, id: string, now: Date): Promise<UserDetail> {
  const { db } = deps
  const row = await userRow(db.prisma, id)
  const [more] = await userDetail(db, { id, now })
  if (!row || !more) throw noAccount()
  const [identities, agents, openRequests, isLastAdmin] = await Promise.all([
    db.prisma.accountIdentity.findMany({ where: { accountId: id, unlinkedAt: null }, orderBy: { linkedAt: 'asc' } }),
    deps.agentsOf(id),
    deps.openRequestsOf(id),
    row.role === 'admin' && accountDirectory.isOnlyAdmin(db.prisma, id),
  ])
  const { purpose, sent_at: sentAt, expires_at: expiresAt } = more
  return {
    ...userView(row),
    deactivated_at: more.deactivated_at?.toISOString() ?? null,
    sessions: more.sessions,
    last_seen_at: more.last_seen_at?.toISOString() ?? null,
    identities: identities.map(({ issuer, linkedAt }) => ({ issuer, linked_at: linkedAt.toISOString() })),
    letter:
      purpose && sentAt && expiresAt
        ? { purpose, sent_at: sentAt.toISOString(), expires_at: expiresAt.toISOString() }
        : null,
    agents,
    open_requests: openRequests,
    is_last_admin: isLastAdmin,
  }
}

const noUsers = { active: 0, invited: 0, deactivated: 0, erasing: 0, restricted: 0 }

const listAll = ({ db }: ReadingDeps) =>
  read(listUsers, async (_ctx, { query }) => {
    const [{ shown, page }, [counts]] = await Promise.all([
      userPage(db, { ...query, secondFactor: query.second_factor }),
      countUsersByState(db, {}),
    ])
    return {
      resourceId: 'query',
      details: {
        count: shown.length,
        filters: Object.keys(query)
          .filter((name) => name !== 'limit')
          .sort(),
      },
      body: { data: shown.map(userView), ...page, counts: counts ?? noUsers },
    }
  })

const listAllOrganisations = ({ db }: ReadingDeps) =>
  read(listOrganisations, async (_ctx, { query: { q } }) => {
    const pattern = q === undefined ? null : `%${q.replace(/[\\%_]/g, '\\$&')}%`
    const rows = await listOrganisationRows(db, { pattern })
    return { resourceId: 'query', body: { data: rows } }
  })

const readOne = (deps: ReadingDeps) =>
  read(readUser, async (ctx, { params: { id } }) => ({
    resourceId: id,
    body: { data: await detailOf(deps, id, ctx.now) },
  }))

/** Use cases with which admins read accounts and organizations. */
export const userReading = (deps: ReadingDeps) => ({
  users: listAll(deps),
  organisations: listAllOrganisations(deps),
  user: readOne(deps),
})
