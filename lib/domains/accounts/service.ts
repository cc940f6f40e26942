import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { passwordStaysRecent } from '#lib/kernel/step-up.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { accountStatusOf, endSessions, freeAccount, restrictAccount, suspendAccount } from './account-status.ts'
import { countTry } from './attempts.ts'
import {
  changePassword,
  confirmPassword,
  listSessions,
  readAccount,
  revokeOtherSessions,
  revokeSession,
  type SessionView,
} from './contract.ts'
import { accountDirectory } from './directory.ts'
import { ownIdentities } from './identities.ts'
import { type PasswordLinkDeps, passwordLinkUse } from './link-use.ts'
import { endLinks } from './links.ts'
import { organisationMembers } from './members.ts'
import { storeNamespaces } from './namespaces.ts'
import { enqueueNotice } from './notices.ts'
import { accountOf } from './own-account.ts'
import { hashPassword, isPassword, passwordFaultText } from './passwords.ts'
import { type AccountChanges, rectifyAccount } from './rectification.ts'
import { accountMarked } from './repository.ts'
import {
  type Locale,
  localeNamed,
  longestPassword,
  normaliseEmail,
  oneTimePasswordLife,
  passwordChecksPerMinute,
  passwordFault,
  type Role,
} from './rules.ts'
import { listOpenSessions } from './sessions/repository.ts'
import { type SignInDeps, signInUseCases } from './sign-in.ts'
import { type UserDeps, userAdministration } from './users.ts'

/** Creates an organisation and returns its id. */
export async function createOrganisation(tx: Transaction, name: string, now: Date): Promise<string> {
  const { id } = await tx.organisation.create({ data: { id: newId('org'), name, createdAt: now } })
  return id
}

/** A one-time password expires, because somebody else knows it. */
const endOfPassword = (isOneTime: boolean, now: Date): Date | null =>
  isOneTime ? new Date(now.getTime() + oneTimePasswordLife) : null

export interface NewAccount {
  organisationId: string
  email: string
  name: string
  role: Role
  /** Omitted for an invited person, who chooses one with the emailed link. */
  password?: string
  mustChangePassword: boolean
  locale?: Locale
  /**
   * Stores the address without claiming it: until the person accepts, other accounts can use it, and nothing reveals
   * whether one does.
   */
  isPending?: boolean
  now: Date
}
/**
 * Creates an account and returns its id. Use the service's `create` where the address may be on the suppression list.
 * @throws Problem `conflict` when an account uses the address
 */
export async function createAccount(tx: Transaction, account: NewAccount): Promise<string> {
  const { password, now, isPending = false, ...fields } = account
  const address = normaliseEmail(account.email)
  const passwordHash = password === undefined ? null : await hashPassword(password)
  const id = newId('usr')
  const email = isPending ? `${id}@invitation.invalid` : address
  const { count } = await tx.account.createMany({
    data: {
      ...{ ...fields, id, email, passwordHash, createdAt: now, updatedAt: now },
      invitedEmail: isPending ? address : null,
      passwordExpiresAt: endOfPassword(password !== undefined && fields.mustChangePassword, now),
    },
    skipDuplicates: true,
  })
  if (count === 0) throw new Problem('conflict', 'An account with this email address already exists.')
  return id
}

/** Changes a role, effective with the next request, without checks. */
export const setRole = (tx: Transaction, accountId: string, role: Role, now: Date): Promise<unknown> =>
  tx.account.update({ where: { id: accountId }, data: { role, updatedAt: now } })

const viewOf = (
  row: Awaited<ReturnType<typeof listOpenSessions>>[number],
  current: string | undefined,
): SessionView => ({
  session_id: row.id,
  browser: row.user_agent,
  created_at: row.created_at.toISOString(),
  last_seen_at: row.last_seen_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
  is_current: row.id === current,
})

export interface AccountsServiceDeps extends SignInDeps, PasswordLinkDeps, UserDeps {}

/** Use cases for people, their passwords and their sessions. */
export function accountsService(db: Database, deps: AccountsServiceDeps) {
  return {
    ...signInUseCases(db, deps),
    ...ownIdentities(db, deps),
    ...passwordLinkUse(deps),
    ...userAdministration(db, deps, { createAccount, createOrganisation }),
    ...organisationMembers(db, { createAccount, createOrganisation }, deps.isOnRecord),
    ...storeNamespaces(db),
    ...accountDirectory,
    /** Returns the account whose id has this mark, which is part of the file names of emails about it. */
    async accountMarked(mark: string): Promise<string | undefined> {
      const [record] = await accountMarked(db, { mark })
      return record?.id
    },
    statusOf: accountStatusOf,
    restrict: restrictAccount,
    free: freeAccount,
    endSessions,

    /**
     * Like {@link createAccount}. If the account has its own password, removes the address from the suppression list:
     * choosing a password is a new consent. A one-time password is not, because somebody else created that account.
     */
    async create(tx: Transaction, account: NewAccount): Promise<string> {
      const id = await createAccount(tx, account)
      if (!account.mustChangePassword && account.password !== undefined)
        await deps.unsuppress(tx, 'email', normaliseEmail(account.email))
      return id
    },

    /**
     * Starts the grace period of the account's erasure; ends its sessions if sign-in stops meanwhile. Returns true when
     * it changed.
     */
    async suspend(tx: Transaction, accountId: string, now: Date): Promise<boolean> {
      const changed = await suspendAccount(tx, accountId, now)
      if (deps.graceSignIn === 'stop') await endSessions(tx, accountId, now)
      return changed
    },
    unsuspend: (tx: Transaction, accountId: string): Promise<boolean> => suspendAccount(tx, accountId, null),

    /** Corrects name, language or address. See {@link rectifyAccount}. */
    rectify: (tx: Transaction, accountId: string, changes: AccountChanges, now: Date): Promise<string[]> =>
      rectifyAccount(tx, accountId, changes, { now, unsuppress: deps.unsuppress }),

    /**
     * Verifies the password again. Takes the same time for a wrong password and for a deleted account. Attempts are
     * counted together with password changes.
     * @throws Problem `rate_limited`
     * @throws Problem `invalid` at `password`
     */
    async checkPassword(tx: Transaction, accountId: string, password: string, now: Date): Promise<void> {
      await countTry(deps.tries, [{ key: `password:${accountId}`, limit: passwordChecksPerMinute }], now)
      const account = await tx.account.findUnique({ where: { id: accountId }, select: { passwordHash: true } })
      // Unicode normalisation of a very long text takes minutes.
      const tried = password.length > longestPassword ? '' : password
      if (!(await isPassword(account?.passwordHash, tried)))
        throw invalid(['password'], 'is not the password of this account')
    },

    /** Notifies a person when the transaction commits. */
    notify: (
      tx: Transaction,
      notice: { kind: 'token-revoked' | 'token-issued'; accountId: string; keyPrefix: string; descendants?: number },
    ): Promise<void> => enqueueNotice(tx, { ...notice, at: deps.pipeline.clock.now().toISOString() }),

    me: read(readAccount, async (ctx) => {
      const found = await db.prisma.account.findUnique({
        where: { id: accountOf(ctx) },
        include: { organisation: true },
      })
      if (!found) throw new Problem('sign_in_needed')
      return {
        resourceId: found.id,
        body: {
          data: {
            account_id: found.id,
            name: found.name,
            email: found.email,
            role: found.role,
            organisation: { organisation_id: found.organisation.id, name: found.organisation.name },
            locale: localeNamed(found.locale),
            must_change_password: found.mustChangePassword,
            has_password: found.passwordHash !== null,
            created_at: found.createdAt.toISOString(),
          },
        },
      }
    }),

    changePassword: mutation(changePassword, async (ctx, { body }) => {
      const id = accountOf(ctx)
      await countTry(deps.tries, [{ key: `password:${id}`, limit: passwordChecksPerMinute }], ctx.now)
      const account = await ctx.tx.account.findUnique({ where: { id } })
      if (!account) throw new Problem('sign_in_needed')
      if (account.passwordHash === null)
        throw new Problem(
          'wrong_state',
          'This account has no password to change. Request an email with a link to set one (POST /api/account/reset). Nothing was changed.',
        )
      if (!(await isPassword(account.passwordHash, body.current_password)))
        throw invalid(['current_password'], 'is not the password of this account')
      const reason = passwordFault(body.new_password, body.current_password, account.email)
      if (reason !== undefined) throw invalid(['new_password'], passwordFaultText[reason])
      const { count: changed } = await ctx.tx.account.updateMany({
        where: { id, passwordHash: account.passwordHash },
        data: {
          passwordHash: await hashPassword(body.new_password),
          mustChangePassword: false,
          passwordExpiresAt: null,
          updatedAt: ctx.now,
        },
      })
      if (changed === 0)
        throw new Problem(
          'conflict',
          'Another request changed the password at the same time. Sign in with that password.',
        )
      if (account.mustChangePassword) await deps.unsuppress(ctx.tx, 'email', account.email)
      await endLinks(ctx.tx, id, ctx.now)
      const count = await endSessions(ctx.tx, id, ctx.now, ctx.actor.sessionId)
      await ctx.tx.session.updateMany({ where: { id: ctx.actor.sessionId ?? '' }, data: { passwordAt: ctx.now } })
      return {
        resourceId: id,
        body: { data: { sessions_ended: count } },
        details: { changed: ['password'], sessions_ended: count },
      }
    }),

    confirmPassword: mutation(confirmPassword, async ({ tx, now, actor }, { body }) => {
      const id = accountOf({ actor })
      await countTry(deps.tries, [{ key: `password:${id}`, limit: passwordChecksPerMinute }], now)
      const account = await tx.account.findUnique({ where: { id }, select: { passwordHash: true } })
      if (account && account.passwordHash === null)
        throw new Problem(
          'wrong_state',
          'This account has no password. Request an email with a link to set one (POST /api/account/reset).',
        )
      if (!(await isPassword(account?.passwordHash, body.password)))
        throw invalid(['password'], 'is not the password of this account')
      const sessionId = actor.sessionId ?? ''
      // The condition on the hash makes a concurrent password change win.
      const { count } = await tx.session.updateMany({
        where: { id: sessionId, revokedAt: null, account: { id, passwordHash: account?.passwordHash ?? '' } },
        data: { passwordAt: now },
      })
      if (count === 0) throw new Problem('sign_in_needed')
      return {
        resourceId: sessionId,
        body: { data: { recent_until: new Date(now.getTime() + passwordStaysRecent).toISOString() } },
        details: { changed: ['password_at'] },
      }
    }),

    sessions: read(listSessions, async (ctx, { query: { limit, cursor } }) => {
      const after = parseCursor(cursor)
      const rows = await listOpenSessions(db, {
        ...{ account: accountOf(ctx), now: ctx.now, limit: limit + 1 },
        ...{ at: after?.at ?? null, id: after?.id ?? null },
      })
      const { shown, page } = pageOf(rows, limit, rows[0]?.total ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
      return {
        resourceId: 'query',
        details: { count: shown.length },
        body: {
          data: shown.map((row) => viewOf(row, ctx.actor.sessionId)),
          ...page,
        },
      }
    }),

    revokeOtherSessions: mutation(revokeOtherSessions, async (ctx) => {
      const ended = await endSessions(ctx.tx, accountOf(ctx), ctx.now, ctx.actor.sessionId)
      return {
        resourceId: accountOf(ctx),
        details: { sessions_ended: ended },
        body: { data: { sessions_ended: ended } },
      }
    }),

    revokeSession: mutation(revokeSession, async (ctx, { params: { id } }) => {
      const { count } = await ctx.tx.session.updateMany({
        where: { id, accountId: accountOf(ctx), revokedAt: null, expiresAt: { gt: ctx.now } },
        data: { revokedAt: ctx.now },
      })
      if (count === 0) throw new Problem('not_found', 'You have no open session with this id.')
      return { resourceId: id, body: undefined }
    }),
  }
}
