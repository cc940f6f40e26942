import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { accountStatusOf, endSessions, freeAccount, restrictAccount, suspendAccount } from './account-status.ts'
import { readAccount } from './contract.ts'
import { accountDirectory } from './directory.ts'
import { type EmailChoiceDeps, ownEmailChoices } from './email-choices/own-choices.ts'
import { ownIdentities } from './identities.ts'
import { type PasswordLinkDeps, passwordLinkUse } from './link-use.ts'
import { organisationMembers } from './members.ts'
import { storeNamespaces } from './namespaces.ts'
import { enqueueNotice } from './notices.ts'
import { accountOf } from './own-account.ts'
import { ownPassword } from './own-password.ts'
import { hashPassword } from './passwords.ts'
import { type AccountChanges, rectifyAccount } from './rectification.ts'
import { accountMarked } from './repository.ts'
import { type Locale, localeNamed, normaliseEmail, oneTimePasswordLife, type Role } from './rules.ts'
import { ownFactors } from './second-factors/own-factors.ts'
import { factorRequirement, type RequirementDeps } from './second-factors/requirement.ts'
import { requiredFrom } from './second-factors/rules.ts'
import { ownSessions } from './sessions/own-sessions.ts'
import { type SignInDeps, signInUseCases } from './sign-in.ts'
import { type UserDeps, userAdministration } from './users.ts'

/** Creates an organization and returns its id. */
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

export interface AccountsServiceDeps extends SignInDeps, PasswordLinkDeps, UserDeps, RequirementDeps, EmailChoiceDeps {}

const me = (db: Database, { factorPolicy }: RequirementDeps) =>
  read(readAccount, async (ctx) => {
    const found = await db.prisma.account.findUnique({
      where: { id: accountOf(ctx) },
      include: { organisation: true },
    })
    if (!found) throw new Problem('sign_in_needed')
    const required = ctx.actor.hasSecondFactor ? undefined : requiredFrom(await factorPolicy.recent(), found.role)
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
          second_factor: {
            is_missing: ctx.actor.lacksSecondFactor === true,
            required_from: required?.toISOString() ?? null,
          },
          created_at: found.createdAt.toISOString(),
        },
      },
    }
  })

/** Functions that other domains and the command line call in their own transactions. */
const accountFunctions = (db: Database, deps: AccountsServiceDeps) => ({
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

  /** Notifies a person when the transaction commits. */
  notify: (
    tx: Transaction,
    notice: { kind: 'token-revoked' | 'token-issued'; accountId: string; keyPrefix: string; descendants?: number },
  ): Promise<void> => enqueueNotice(tx, { ...notice, at: deps.pipeline.clock.now().toISOString() }),
})

/** Use cases for people, their passwords and their sessions. */
export const accountsService = (db: Database, deps: AccountsServiceDeps) => ({
  ...signInUseCases(db, deps),
  ...ownIdentities(db, deps),
  ...ownPassword(deps),
  ...ownFactors(db, deps),
  ...factorRequirement(db, deps),
  ...ownSessions(db),
  ...ownEmailChoices(db, deps),
  ...passwordLinkUse(deps),
  ...userAdministration(db, deps, { createAccount, createOrganisation }),
  ...organisationMembers(db, { createAccount, createOrganisation }, deps.isOnRecord),
  ...storeNamespaces(db),
  ...accountDirectory,
  ...accountFunctions(db, deps),
  me: me(db, deps),
})
