import { ownedAgents } from '#lib/domains/agents/queries.ts'
import { countOpenRequestsOf } from '#lib/domains/privacy-requests/queries.ts'
import { type Approvable, approvable, type RequireApproval } from '#lib/kernel/approval.ts'
import type { Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Returned } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read, requireRecentPassword, type UseCase } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { endSessions } from './account-status.ts'
import { assignNamespaces, readNamespace } from './contract.ts'
import {
  type AccountMaking,
  invite,
  inviteAgain,
  lockedUser,
  memberView,
  noAccount,
  userPage,
  userRow,
  userView,
  withdrawInvitation,
} from './invitations.ts'
import { boundPasswordLinkEmails, endLinks } from './links.ts'
import { accountOf } from './own-account.ts'
import type { AccountsDeps } from './ports.ts'
import { accountDirectory } from './queries.ts'
import {
  countUsersByState,
  invitationBefore,
  listOrganisationRows,
  lockInvitations,
  lockNamespaces,
  lockSessions,
  namespacesOf,
  userDetail,
} from './repository.ts'
import { invitationsPerDay, normaliseEmail, type Role } from './rules.ts'
import { changeRequirement } from './second-factors/contract.ts'
import { dropFactors } from './second-factors/own-factors.ts'
import { factorPolicySetting } from './second-factors/requirement.ts'
import {
  changeRole,
  deactivateUser,
  endUserSessions,
  inviteMember,
  inviteUser,
  listMembers,
  listOrganisations,
  listUsers,
  reactivateUser,
  readUser,
  removeUserFactors,
  resendInvitation,
  resendMemberInvitation,
  sendReset,
  withdrawInvitationOf,
  withdrawMemberInvitation,
} from './users-contract.ts'
import { enqueueNotice } from './writes.ts'

const ownAccount = () =>
  new Problem(
    'forbidden',
    'You cannot change your own role, close your own account or remove your own second factors here. Ask another admin.',
  )
/**
 * Only signed-in people decide who administers the installation: a token outlives the role of its creator, and does not
 * identify an account.
 */
const refuseTokens = ({ actor }: MutationContext): void => {
  if (actor.accountId === undefined)
    throw new Problem(
      'forbidden',
      'This operation requires the session of an admin and does not accept tokens. Nothing was changed.',
    )
}
async function refuseLastAdmin(tx: Transaction, id: string): Promise<void> {
  if (await accountDirectory.isLastAdmin(tx, id))
    throw new Problem(
      'conflict',
      'This is the last active admin of the installation. Make another account an admin first. Nothing was changed.',
    )
}

/** Whether the role sees or changes data of all organizations. */
const isAuthority = (role: Role): boolean => role === 'admin' || role === 'auditor'

/** Responds with the account after the change. */
async function replyWith({ tx }: MutationContext, id: string, details: Record<string, unknown>) {
  const row = await userRow(tx, id)
  if (!row) throw noAccount()
  return { resourceId: id, body: { data: userView(row) }, details }
}

const inviteToAny = (making: AccountMaking, { requireApproval }: Pick<AccountsDeps, 'requireApproval'>) =>
  mutation(inviteUser, async (ctx, { body }) => {
    if (body.role !== 'person') refuseTokens(ctx)
    requireRecentPassword(ctx)
    const { organisation_id: given, new_organisation: made, ...person } = body
    if (given !== undefined && (await ctx.tx.organisation.count({ where: { id: given } })) === 0)
      throw new Problem('not_found', 'There is no such organization.')
    const organisationId =
      made === undefined ? (given ?? ctx.actor.organisationId) : await making.createOrganisation(ctx.tx, made, ctx.now)
    if (organisationId === undefined)
      throw new Problem('not_found', 'You have no organization. Set organisation_id or new_organisation.')
    if (isAuthority(body.role)) await requireApproval(ctx, { operation: inviteUser, input: { body } })
    const row = await invite(ctx, making, { ...person, organisationId })
    return {
      resourceId: row.id,
      body: { data: userView(row) },
      details: { role: row.role, organisation: organisationId, letter: 'invitation' },
    }
  })

const setRole = (deps: Pick<AccountsDeps, 'revokeAdminTokens' | 'requireApproval'>) =>
  mutation(changeRole, async (ctx, { params, body }) => {
    const [{ id }, { role }] = [params, body]
    refuseTokens(ctx)
    if (ctx.actor.accountId === id) throw ownAccount()
    // Before the account's own lock, because this check locks all admins in a fixed order.
    if (role !== 'admin') await refuseLastAdmin(ctx.tx, id)
    const { role: from } = await lockedUser(ctx.tx, id)
    await deps.requireApproval(ctx, { operation: changeRole, input: { params, body } })
    await ctx.tx.account.update({ where: { id }, data: { role, updatedAt: ctx.now } })
    const isAdminNoMore = from === 'admin' && role !== 'admin'
    if (isAdminNoMore) await lockSessions(ctx.tx, { account: id })
    const revoked = isAdminNoMore ? await deps.revokeAdminTokens(ctx, id, 'owner_role') : 0
    return replyWith(ctx, id, {
      changed: from === role ? [] : ['role'],
      from,
      to: role,
      ...(revoked > 0 && { tokens_revoked: revoked }),
    })
  })

const close = (deps: Pick<AccountsDeps, 'revokeAdminTokens' | 'requireApproval' | 'requireOwner'>) =>
  mutation(deactivateUser, async (ctx, { params }) => {
    const { id } = params
    refuseTokens(ctx)
    if (ctx.actor.accountId === id) throw ownAccount()
    await refuseLastAdmin(ctx.tx, id)
    const { states } = await lockedUser(ctx.tx, id)
    if (states.includes('deactivated')) throw new Problem('wrong_state', 'This account is already closed.')
    await deps.requireApproval(ctx, { operation: deactivateUser, input: { params } })
    await ctx.tx.account.update({ where: { id }, data: { deactivatedAt: ctx.now, updatedAt: ctx.now } })
    const ended = await endSessions(ctx.tx, id, ctx.now)
    await endLinks(ctx.tx, id, ctx.now)
    const revoked = await deps.revokeAdminTokens(ctx, id, 'owner_closed')
    await deps.requireOwner(ctx.tx, id)
    return replyWith(ctx, id, {
      changed: ['deactivated_at'],
      sessions_ended: ended,
      ...(revoked > 0 && { tokens_revoked: revoked }),
    })
  })

const reopen = ({ requireApproval }: Pick<AccountsDeps, 'requireApproval'>) =>
  mutation(reactivateUser, async (ctx, { params }) => {
    const { id } = params
    refuseTokens(ctx)
    const { states } = await lockedUser(ctx.tx, id)
    if (!states.includes('deactivated')) throw new Problem('wrong_state', 'This account is not closed.')
    await requireApproval(ctx, { operation: reactivateUser, input: { params } })
    await ctx.tx.account.update({ where: { id }, data: { deactivatedAt: null, updatedAt: ctx.now } })
    return replyWith(ctx, id, { changed: ['deactivated_at'] })
  })

const endAllSessions = ({ requireOwner }: Pick<AccountsDeps, 'requireOwner'>) =>
  mutation(endUserSessions, async (ctx, { params: { id } }) => {
    if (!(await userRow(ctx.tx, id))) throw noAccount()
    const ended = await endSessions(ctx.tx, id, ctx.now)
    await requireOwner(ctx.tx, id)
    return { resourceId: id, body: { data: { sessions_ended: ended } }, details: { sessions_ended: ended } }
  })

const resend = () =>
  mutation(resendInvitation, async (ctx, { params: { id } }) => {
    requireRecentPassword(ctx)
    await inviteAgain(ctx, await lockedUser(ctx.tx, id))
    return replyWith(ctx, id, { letter: 'invitation' })
  })

const withdraw = () =>
  mutation(withdrawInvitationOf, async (ctx, { params: { id } }) => {
    await withdrawInvitation(ctx, await lockedUser(ctx.tx, id))
    return { resourceId: id, body: undefined }
  })

const sendResetEmail = ({ requireApproval }: Pick<AccountsDeps, 'requireApproval'>) =>
  mutation(sendReset, async (ctx, { params }) => {
    const { id } = params
    const { role, states } = await lockedUser(ctx.tx, id)
    if (states.includes('deactivated'))
      throw new Problem(
        'wrong_state',
        'This account is closed, so no email with a link is sent to it. Reopen it first.',
      )
    if (states.includes('invited'))
      throw new Problem('wrong_state', 'This person has not accepted the invitation yet. Send the invitation again.')
    if (isAuthority(role) && id !== ctx.actor.accountId)
      await requireApproval(ctx, { operation: sendReset, input: { params } })
    await boundPasswordLinkEmails(ctx.tx, id, { purpose: 'reset', by: 'admin' }, ctx.now)
    await enqueueNotice(ctx.tx, { kind: 'reset-link', by: 'admin', accountId: id, at: ctx.now })
    return replyWith(ctx, id, { letter: 'reset' })
  })

const removeFactors = ({ requireApproval, requireOwner }: Pick<AccountsDeps, 'requireApproval' | 'requireOwner'>) =>
  mutation(removeUserFactors, async (ctx, { params }) => {
    const { id } = params
    refuseTokens(ctx)
    if (ctx.actor.accountId === id) throw ownAccount()
    await lockedUser(ctx.tx, id)
    await requireApproval(ctx, { operation: removeUserFactors, input: { params } })
    const count = await dropFactors(ctx.tx, id)
    await requireOwner(ctx.tx, id)
    if (count > 0)
      await enqueueNotice(ctx.tx, {
        kind: 'second-factor',
        change: 'removed-by-admin',
        accountId: id,
        at: ctx.now,
      })
    return {
      resourceId: id,
      body: { data: { factors_removed: count } },
      details: { changed: count > 0 ? ['factors'] : [], factors_removed: count },
    }
  })

async function detailOf(db: Database, id: string, now: Date): Promise<Returned<typeof readUser>['data']> {
  const row = await userRow(db.prisma, id)
  const [more] = await userDetail(db, { id, now })
  if (!row || !more) throw noAccount()
  const [identities, agents, openRequests, isLastAdmin] = await Promise.all([
    db.prisma.accountIdentity.findMany({ where: { accountId: id, unlinkedAt: null }, orderBy: { linkedAt: 'asc' } }),
    ownedAgents(db, id),
    countOpenRequestsOf(db, id),
    row.role === 'admin' && accountDirectory.isOnlyAdmin(db.prisma, id),
  ])
  const { purpose, sent_at: sentAt, expires_at: expiresAt } = more
  return {
    ...userView(row),
    deactivated_at: more.deactivated_at,
    sessions: more.sessions,
    last_seen_at: more.last_seen_at,
    identities: identities.map(({ issuer, linkedAt }) => ({ issuer, linked_at: linkedAt })),
    letter: purpose && sentAt && expiresAt ? { purpose, sent_at: sentAt, expires_at: expiresAt } : null,
    agents: agents.length,
    open_requests: openRequests,
    is_last_admin: isLastAdmin,
  }
}

const noUsers = { active: 0, invited: 0, deactivated: 0, erasing: 0, restricted: 0 }

const listAll = (db: Database) =>
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

const listAllOrganisations = (db: Database) =>
  read(listOrganisations, async (_ctx, { query: { q } }) => {
    const pattern = q === undefined ? null : `%${q.replace(/[\\%_]/g, '\\$&')}%`
    const rows = await listOrganisationRows(db, { pattern })
    return { resourceId: 'query', body: { data: rows } }
  })

const readOne = (db: Database) =>
  read(readUser, async (ctx, { params: { id } }) => ({
    resourceId: id,
    body: { data: await detailOf(db, id, ctx.now) },
  }))

/** Use cases with which admins read accounts and organizations. */
const userReading = (db: Database) => ({
  users: listAll(db),
  organisations: listAllOrganisations(db),
  user: readOne(db),
})

/** Use cases of admins for accounts. */
export const userAdministration = (
  db: Database,
  deps: Pick<AccountsDeps, 'revokeAdminTokens' | 'requireApproval' | 'requireOwner'>,
  making: AccountMaking,
) =>
  ({
    ...userReading(db),
    inviteUser: inviteToAny(making, deps),
    changeRole: setRole(deps),
    deactivate: close(deps),
    reactivate: reopen(deps),
    endUserSessions: endAllSessions(deps),
    resendInvitation: resend(),
    withdrawInvitation: withdraw(),
    sendReset: sendResetEmail(deps),
    removeUserFactors: removeFactors(deps),
  }) satisfies Record<string, UseCase>

/**
 * Returns the organization that the caller manages.
 * @throws Problem `forbidden` for callers who manage none
 */
async function managedBy(tx: Transaction, ctx: Context): Promise<string> {
  const record = await tx.account.findUnique({
    where: { id: accountOf(ctx) },
    select: { role: true, organisationId: true },
  })
  if (record?.role !== 'manager' && record?.role !== 'admin')
    throw new Problem('forbidden', 'Only managers and admins can see the members of their organization.')
  return record.organisationId
}

/**
 * Limits the invitations into an organization per day, regardless of the inviter. Counts the accounts created within a
 * day and the withdrawn invitations. Concurrent calls are serialized.
 * @throws Problem `rate_limited`
 */
async function boundInvitations({ tx, now }: MutationContext, organisationId: string): Promise<void> {
  await lockInvitations(tx, { id: organisationId })
  const day = 24 * 3_600_000
  const since = new Date(now.getTime() - day)
  const [oldest] = await invitationBefore(tx, { id: organisationId, since, skipped: invitationsPerDay - 1 })
  if (!oldest) return
  const seconds = Math.max(1, Math.ceil((oldest.at.getTime() + day - now.getTime()) / 1000))
  throw new Problem('rate_limited', {
    detail: `At most ${invitationsPerDay} people can be invited to one organization per day. Nobody was invited. Try again in ${seconds} seconds, or ask an admin.`,
    headers: { 'Retry-After': String(seconds) },
  })
}

/** Use cases of managers for the members of their organization. */
export const organisationMembers = (db: Database, making: AccountMaking) => ({
  members: read(listMembers, async (ctx, { query }) => {
    const organisation = await managedBy(db.prisma, ctx)
    const { shown, page } = await userPage(db, { ...query, organisation })
    return {
      resourceId: 'query',
      details: { count: shown.length, organisation },
      body: { data: shown.map(memberView), ...page },
    }
  }),

  inviteMember: mutation(inviteMember, async (ctx, { body }) => {
    requireRecentPassword(ctx)
    const organisationId = await managedBy(ctx.tx, ctx)
    await boundInvitations(ctx, organisationId)
    const address = normaliseEmail(body.email)
    const members = { organisationId, OR: [{ email: address }, { invitedEmail: address }] }
    if ((await ctx.tx.account.count({ where: members })) > 0)
      throw new Problem('conflict', 'A member of your organization has this address, or an invitation was sent to it.')
    const row = await invite(ctx, making, { ...body, organisationId, isPending: true })
    return { resourceId: row.id, body: { data: memberView(row) }, details: { role: row.role, letter: 'invitation' } }
  }),

  resendMemberInvitation: mutation(resendMemberInvitation, async (ctx, { params: { id } }) => {
    requireRecentPassword(ctx)
    const row = await lockedUser(ctx.tx, id, await managedBy(ctx.tx, ctx))
    // Managers have no rights over admins and auditors.
    if (row.role !== 'person' && row.role !== 'manager') throw noAccount()
    await inviteAgain(ctx, row)
    return { resourceId: id, body: { data: memberView(row) }, details: { letter: 'invitation' } }
  }),

  withdrawMemberInvitation: mutation(withdrawMemberInvitation, async (ctx, { params: { id } }) => {
    const row = await lockedUser(ctx.tx, id, await managedBy(ctx.tx, ctx))
    if (row.role !== 'person' && row.role !== 'manager') throw noAccount()
    await withdrawInvitation(ctx, row)
    return { resourceId: id, body: undefined }
  }),
})

async function userFacts(tx: Transaction, id: string) {
  const row = await userRow(tx, id)
  if (!row) throw noAccount()
  const { name, email, role, states } = row
  return { subjects: [id], facts: { name, email, role_now: role, is_closed: states.includes('deactivated') } }
}

const noOrganisation = (): Problem => new Problem('not_found', 'There is no such organization.')
/** Prefixes of the registry's own ids, which an assigned prefix must not cover. */
const ownHeads = ['org_', 'prj_', 'conv_', 'msg_', 'doc_']
const overlap = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one)

async function viewOf(tx: Transaction, id: string | undefined) {
  const [row] = await namespacesOf(tx, { id: id ?? null })
  if (!row) throw noOrganisation()
  return { organisation_id: row.id, prefix: `${row.id}_`, namespaces: row.namespaces, is_any: row.is_any }
}

/** Use cases for the ids in connected stores that an organization may claim. */
export const storeNamespaces = (db: Database, { requireApproval }: { requireApproval: RequireApproval }) => ({
  namespace: read(readNamespace, async ({ actor }) => ({
    resourceId: actor.organisationId ?? 'nobody',
    body: { data: await viewOf(db.prisma, actor.organisationId) },
  })),

  assignNamespaces: mutation(assignNamespaces, async (ctx, { params: { id }, body }) => {
    const { tx } = ctx
    await requireApproval(ctx, { operation: assignNamespaces, input: { params: { id }, body } })
    await lockNamespaces(tx, {})
    const namespaces = [...new Set(body.namespaces)].sort()
    const prefixes = namespaces.filter((one) => one !== '*')
    if (prefixes.some((one) => ownHeads.some((head) => overlap(one, head))))
      throw new Problem('conflict', 'One of these prefixes is reserved for ids of the registry. Nothing was changed.')
    const others = await tx.organisation.findMany({
      where: { id: { not: id }, NOT: { storeNamespaces: { isEmpty: true } } },
      select: { storeNamespaces: true },
    })
    const taken = others.flatMap(({ storeNamespaces: theirs }) => theirs).filter((one) => one !== '*')
    if (prefixes.some((one) => taken.some((other) => overlap(one, other))))
      throw new Problem('conflict', 'Another organization has a prefix that overlaps with these. Nothing was changed.')
    const { count } = await tx.organisation.updateMany({ where: { id }, data: { storeNamespaces: namespaces } })
    if (count === 0) throw noOrganisation()
    return { resourceId: id, body: { data: await viewOf(tx, id) }, details: { namespaces: namespaces.length } }
  }),
})

/** With the prefix of another organization's ids in shared stores, an organization can claim and erase them. */
const namespaceApprovable: Approvable = approvable(
  assignNamespaces,
  async (tx, { params: { id }, body: { namespaces } }) => {
    const row = await tx.organisation.findUnique({ where: { id }, select: { storeNamespaces: true } })
    if (!row) throw noOrganisation()
    return {
      facts: {
        organization: id,
        prefixes_now: row.storeNamespaces.join(', ') || '–',
        prefixes_next: [...new Set(namespaces)].sort().join(', ') || '–',
      },
    }
  },
)

/** Actions that decide who administers the installation, and who can sign in how. */
export const accountApprovables = (db: Database): readonly Approvable[] => [
  approvable(changeRole, async (tx, { params: { id }, body: { role } }) => {
    const { subjects, facts } = await userFacts(tx, id)
    return { subjects, facts: { ...facts, role_next: role } }
  }),
  approvable(
    inviteUser,
    async (_tx, { body: { name, email, role, organisation_id: given, new_organisation: made } }) => ({
      facts: { name, email, role_next: role, organization: made ?? given ?? null },
    }),
  ),
  approvable(deactivateUser, (tx, { params: { id } }) => userFacts(tx, id)),
  approvable(reactivateUser, (tx, { params: { id } }) => userFacts(tx, id)),
  approvable(sendReset, (tx, { params: { id } }) => userFacts(tx, id)),
  approvable(removeUserFactors, (tx, { params: { id } }) => userFacts(tx, id)),
  approvable(changeRequirement, async (tx, { body: { required_of: next, from } }) => ({
    facts: {
      required_of_now: (await factorPolicySetting(db).read(tx)).required_of,
      required_of_next: next,
      from: from ?? null,
    },
  })),
  namespaceApprovable,
]
