import type { RequireApproval } from '#lib/kernel/approval.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { requireRecentPassword } from '#lib/kernel/step-up.ts'
import { mutation, type UseCase } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { endSessions } from './account-status.ts'
import { accountDirectory } from './directory.ts'
import { type AccountMaking, invite, inviteAgain, lockedUser, noAccount, withdrawInvitation } from './inviting.ts'
import { boundPasswordLinkEmails, endLinks } from './links.ts'
import { enqueueNotice } from './notices.ts'
import type { Role } from './rules.ts'
import { dropFactors } from './second-factors/own-factors.ts'
import { userReading } from './user-reading.ts'
import { userRow, userView } from './user-rows.ts'
import {
  changeRole,
  deactivateUser,
  endUserSessions,
  inviteUser,
  reactivateUser,
  removeUserFactors,
  resendInvitation,
  sendReset,
  withdrawInvitationOf,
} from './users-contract.ts'

/** What account administration needs from other domains. */
export interface UserDeps {
  /**
   * Returns true when another domain has a record about the account that prevents its deletion: an agent, a privacy
   * request or a legal hold.
   */
  isOnRecord(tx: Transaction, accountId: string): Promise<boolean>
  /** Returns the number of agents that the person owns. */
  agentsOf(accountId: string): Promise<number>
  /** Returns the number of open privacy requests about the person or one of their agents. */
  openRequestsOf(accountId: string): Promise<number>
  requireApproval: RequireApproval
  /** Revokes the tokens with scope `admin` of the person's agents and returns their number. The account must be locked. */
  revokeAdminTokens(ctx: MutationContext, accountId: string, reason: 'owner_role' | 'owner_closed'): Promise<number>
}

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

const inviteToAny = (making: AccountMaking, { requireApproval }: Pick<UserDeps, 'requireApproval'>) =>
  mutation(inviteUser, async (ctx, { body }) => {
    if (body.role !== 'person') {
      refuseTokens(ctx)
      requireRecentPassword(ctx)
    }
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

const setRole = (deps: Pick<UserDeps, 'revokeAdminTokens' | 'requireApproval'>) =>
  mutation(changeRole, async (ctx, { params, body }) => {
    const [{ id }, { role }] = [params, body]
    refuseTokens(ctx)
    if (ctx.actor.accountId === id) throw ownAccount()
    // Before the account's own lock, because this check locks all admins in a fixed order.
    if (role !== 'admin') await refuseLastAdmin(ctx.tx, id)
    const { role: from } = await lockedUser(ctx.tx, id)
    await deps.requireApproval(ctx, { operation: changeRole, input: { params, body } })
    await ctx.tx.account.update({ where: { id }, data: { role, updatedAt: ctx.now } })
    const revoked = from === 'admin' && role !== 'admin' ? await deps.revokeAdminTokens(ctx, id, 'owner_role') : 0
    return replyWith(ctx, id, {
      changed: from === role ? [] : ['role'],
      from,
      to: role,
      ...(revoked > 0 && { tokens_revoked: revoked }),
    })
  })

const close = (deps: Pick<UserDeps, 'revokeAdminTokens' | 'requireApproval'>) =>
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
    return replyWith(ctx, id, {
      changed: ['deactivated_at'],
      sessions_ended: ended,
      ...(revoked > 0 && { tokens_revoked: revoked }),
    })
  })

const reopen = ({ requireApproval }: Pick<UserDeps, 'requireApproval'>) =>
  mutation(reactivateUser, async (ctx, { params }) => {
    const { id } = params
    refuseTokens(ctx)
    const { states } = await lockedUser(ctx.tx, id)
    if (!states.includes('deactivated')) throw new Problem('wrong_state', 'This account is not closed.')
    await requireApproval(ctx, { operation: reactivateUser, input: { params } })
    await ctx.tx.account.update({ where: { id }, data: { deactivatedAt: null, updatedAt: ctx.now } })
    return replyWith(ctx, id, { changed: ['deactivated_at'] })
  })

const endAllSessions = () =>
  mutation(endUserSessions, async (ctx, { params: { id } }) => {
    if (!(await userRow(ctx.tx, id))) throw noAccount()
    const ended = await endSessions(ctx.tx, id, ctx.now)
    return { resourceId: id, body: { data: { sessions_ended: ended } }, details: { sessions_ended: ended } }
  })

const resend = () =>
  mutation(resendInvitation, async (ctx, { params: { id } }) => {
    await inviteAgain(ctx, await lockedUser(ctx.tx, id))
    return replyWith(ctx, id, { letter: 'invitation' })
  })

const withdraw = (deps: Pick<UserDeps, 'isOnRecord'>) =>
  mutation(withdrawInvitationOf, async (ctx, { params: { id } }) => {
    await withdrawInvitation(ctx, await lockedUser(ctx.tx, id), deps.isOnRecord)
    return { resourceId: id, body: undefined }
  })

const sendResetEmail = ({ requireApproval }: Pick<UserDeps, 'requireApproval'>) =>
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
    await enqueueNotice(ctx.tx, { kind: 'reset-link', by: 'admin', accountId: id, at: ctx.now.toISOString() })
    return replyWith(ctx, id, { letter: 'reset' })
  })

const removeFactors = ({ requireApproval }: Pick<UserDeps, 'requireApproval'>) =>
  mutation(removeUserFactors, async (ctx, { params }) => {
    const { id } = params
    refuseTokens(ctx)
    if (ctx.actor.accountId === id) throw ownAccount()
    await lockedUser(ctx.tx, id)
    await requireApproval(ctx, { operation: removeUserFactors, input: { params } })
    const count = await dropFactors(ctx.tx, id)
    if (count > 0)
      await enqueueNotice(ctx.tx, {
        ...{ kind: 'second-factor', change: 'removed-by-admin' },
        ...{ accountId: id, at: ctx.now.toISOString() },
      })
    return {
      resourceId: id,
      body: { data: { factors_removed: count } },
      details: { changed: count > 0 ? ['factors'] : [], factors_removed: count },
    }
  })

/** Use cases of admins for accounts. */
export const userAdministration = (db: Database, deps: UserDeps, making: AccountMaking) =>
  ({
    ...userReading({ ...deps, db }),
    inviteUser: inviteToAny(making, deps),
    changeRole: setRole(deps),
    deactivate: close(deps),
    reactivate: reopen(deps),
    endUserSessions: endAllSessions(),
    resendInvitation: resend(),
    withdrawInvitation: withdraw(deps),
    sendReset: sendResetEmail(deps),
    removeUserFactors: removeFactors(deps),
  }) satisfies Record<string, UseCase>
