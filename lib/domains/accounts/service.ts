import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Env, openIdProvider } from '#lib/config/env.ts'
import { sealedPurposes } from '#lib/config/secret.ts'
import { agentsOfAccount } from '#lib/domains/agents/queries.ts'
import type { Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { EmailSections } from '#lib/stores/mail/email-content.ts'
import type { Email, MailPort } from '#lib/stores/mail/mail.ts'
import { outboxRetention } from '#lib/stores/mail/outbox-folder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { accountStatusOf, endSessions, freeAccount, restrictAccount, suspendAccount } from './account-status.ts'
import { askForReset, readAccount, setTelemetry, usePasswordLink } from './contract.ts'
import type { EmailKind } from './email-choices/rules.ts'
import {
  digestEmailJob,
  type OptionalEmails,
  optionalEmails,
  ownEmailChoices,
  unsubscribeLinks,
} from './email-choices/service.ts'
import { ownIdentities } from './identities.ts'
import { isOnRecord } from './invitations.ts'
import { type Addressee, dropLink, endLinks, isFenced, makePasswordLink, noteShown, takePasswordLink } from './links.ts'
import {
  approvalDecidedMail,
  approvalRequestedMail,
  dataExportedMail,
  identityLinkedMail,
  invitationMail,
  orderWithdrawnMail,
  passwordResetMail,
  passwordSetMail,
  resetLinkMail,
  secondFactorMail,
  secondFactorReminderMail,
  storageWarningMail,
  storeRefusesMail,
  storeUnavailableMail,
  tokenIssuedMail,
  tokenRevokedMail,
} from './mails.ts'
import { type AccountChanges, accountOf, ownPassword, ownSessions, rectifyAccount } from './own-account.ts'
import { countTry, hashPassword, isPassword, type Tries } from './passwords.ts'
import {
  accountDataSource,
  accountExporters,
  emailChoiceDataSource,
  factorDataSource,
  identityDataSource,
  linkDataSource,
  readNoticeDataSource,
  recoveryCodeDataSource,
  sessionDataSource,
  signInDataSource,
} from './personal-data.ts'
import type { AccountsDeps } from './ports.ts'
import { accountDirectory } from './queries.ts'
import {
  accountMarked,
  deleteEndedSessions,
  deleteLinks,
  deleteSignInMarks,
  lockUninvited,
  uninvitedAccounts,
} from './repository.ts'
import {
  endedLinkRetention,
  endedSessionRetention,
  invitedFor,
  type Locale,
  localeNamed,
  normaliseEmail,
  oneTimePasswordLife,
  passwordFault,
  passwordFaultText,
  passwordLinkTriesPerMinute,
  type Role,
  signInPlaceRemembered,
} from './rules.ts'
import { ownFactors } from './second-factors/own-factors.ts'
import { createChallenges } from './second-factors/passkeys.ts'
import { factorPolicySetting, factorRequirement } from './second-factors/requirement.ts'
import { requiredFrom } from './second-factors/rules.ts'
import { signInUseCases } from './sign-in.ts'
import { organisationMembers, storeNamespaces, userAdministration } from './users.ts'
import { AccountNotice, createOrganisation, dropOrganisationIfEmpty, enqueueNotice, noticeJob } from './writes.ts'

type LinkNotice = Extract<AccountNotice, { kind: 'invitation' | 'reset-link' }>
/** The kinds of notices that the recipient can turn off. All others are required. */
const optionalKinds = {
  'storage-warning': 'storage',
  'store-unavailable': 'outages',
  'store-refuses': 'outages',
  'approval-requested': 'approvals',
  'approval-decided': 'approvals',
} as const satisfies Partial<Record<AccountNotice['kind'], EmailKind>>
type OptionalNotice = Extract<AccountNotice, { kind: keyof typeof optionalKinds }>
const isOptional = (notice: AccountNotice): notice is OptionalNotice => notice.kind in optionalKinds
type RequiredNotice = Exclude<AccountNotice, LinkNotice | OptionalNotice>
const hasLink = (notice: AccountNotice): notice is LinkNotice =>
  notice.kind === 'invitation' || notice.kind === 'reset-link'

interface AccountsJobsDeps {
  publicUrl: string
  /** Display name of the identity provider. */
  provider?: string | undefined
  emails: Pick<OptionalEmails, 'sendAtOnce'>
}

function emailOf(notice: RequiredNotice, locale: string, deps: AccountsJobsDeps): Omit<Email, 'to'> {
  const facts = { url: deps.publicUrl, at: notice.at }
  switch (notice.kind) {
    case 'token-revoked': {
      const { keyPrefix, descendants } = notice
      return tokenRevokedMail(localeNamed(locale), { ...facts, keyPrefix, descendants })
    }
    case 'token-issued':
      return tokenIssuedMail(localeNamed(locale), { ...facts, keyPrefix: notice.keyPrefix })
    case 'data-exported':
      return dataExportedMail(localeNamed(locale), { ...facts, agentId: notice.agentId })
    case 'password-reset':
      return passwordResetMail(localeNamed(locale), facts)
    case 'password-set':
      return passwordSetMail(localeNamed(locale), facts)
    case 'second-factor':
      return secondFactorMail(localeNamed(locale), { ...facts, change: notice.change })
    case 'second-factor-reminder':
      return secondFactorReminderMail(localeNamed(locale), { ...facts, requiredFrom: notice.requiredFrom })
    case 'order-withdrawn':
      return orderWithdrawnMail(localeNamed(locale), { ...facts, projectId: notice.projectId })
    case 'identity-linked':
      return identityLinkedMail(localeNamed(locale), { ...facts, provider: deps.provider ?? 'OpenID' })
  }
}
function optionalEmailOf(notice: OptionalNotice, locale: Locale, url: string): EmailSections {
  switch (notice.kind) {
    case 'storage-warning':
      return storageWarningMail(locale, { url, percent: notice.percent })
    case 'store-unavailable': {
      const { store, runs, since } = notice
      return storeUnavailableMail(locale, { url, store, runs, since: new Date(since) })
    }
    case 'store-refuses': {
      const { store, runs, since, refusal } = notice
      return storeRefusesMail(locale, { url, store, runs, since: new Date(since), refusal })
    }
    case 'approval-requested':
      return approvalRequestedMail(locale, { url, at: notice.at })
    case 'approval-decided':
      return approvalDecidedMail(locale, { url, at: notice.at, isApproved: notice.decision === 'approved' })
  }
}
function linkEmailOf(notice: LinkNotice, to: Addressee, url: string): Omit<Email, 'to'> {
  const facts = { url, code: to.code, at: notice.at }
  return notice.kind === 'invitation'
    ? invitationMail(localeNamed(to.locale), { ...facts, organisation: to.organisation })
    : resetLinkMail(localeNamed(to.locale), facts)
}

const batch = 500
/**
 * Deletes accounts whose invitation nobody accepted within 30 days of the last email (storage limitation, GDPR art.
 * 5(1)(e)). Accounts with references stay.
 * Each account is deleted in its own transaction under a lock, so a concurrent acceptance either comes first or finds
 * the link invalid.
 */
async function removeUninvited(ctx: Context, db: Database): Promise<void> {
  const before = new Date(ctx.now.getTime() - invitedFor)
  let after = ''
  for (;;) {
    const waiting = await uninvitedAccounts(db, { before, after, limit: batch })
    for (const { id } of waiting) await ctx.pipeline.transaction((tx) => remove(tx, id))
    const last = waiting.at(-1)
    if (!last || waiting.length < batch) return
    after = last.id
  }

  async function remove(tx: Transaction, id: string): Promise<void> {
    const [account] = await lockUninvited(tx, { id, before })
    if (!account || (await isOnRecord(tx, id, ctx.now))) return
    await tx.account.delete({ where: { id } })
    await dropOrganisationIfEmpty(tx, account.organisation_id)
    await ctx.pipeline.auditWithin(tx, {
      action: 'delete',
      actorId: ctx.actor.id,
      resourceType: 'account',
      resourceId: id,
      at: ctx.now,
      ip: '',
      details: { reason: 'invitation_not_accepted' },
    })
    await ctx.pipeline.recordDeletion(tx, {
      requestedBy: ctx.actor.id,
      reason: 'retention',
      scope: { subject: id, kind: 'account' },
      results: { accountsDeleted: 1 },
      now: ctx.now,
    })
  }
}

/**
 * Jobs that delete expired sessions, links, sign-in marks, unaccepted accounts and emails in the mail folder, and that
 * send notices.
 */
export function accountsJobs(db: Database, mail: MailPort, deps: AccountsJobsDeps) {
  /** Creates the link together with its email, so that no code is stored in the queue. If sending fails, the link is deleted. */
  async function sendLink(notice: LinkNotice, now: Date): Promise<void> {
    const { accountId } = notice
    const emailFor =
      notice.kind === 'invitation'
        ? ({ purpose: 'invitation', by: 'admin' } as const)
        : ({ purpose: 'reset', by: notice.by } as const)
    const to = await db.transaction((tx) => makePasswordLink(tx, accountId, emailFor, now))
    if (!to) return
    const email = { to: to.email, about: accountId, ...linkEmailOf(notice, to, deps.publicUrl) }
    await mail.send(email).catch(async (error: unknown) => {
      await db.transaction((tx) => dropLink(tx, to.code))
      throw error
    })
  }

  return [
    job({
      name: 'accounts.upkeep',
      payload: z.unknown(),
      cron: '23 * * * *',
      async run(ctx) {
        const { now } = ctx
        const before = (retention: number) => ({ before: new Date(now.getTime() - retention) })
        await deleteEndedSessions(db, before(endedSessionRetention))
        await deleteLinks(db, before(endedLinkRetention))
        await deleteSignInMarks(db, before(signInPlaceRemembered))
        await mail.prune(new Date(now.getTime() - outboxRetention))
        await removeUninvited(ctx, db)
      },
    }),
    job({
      name: noticeJob,
      payload: AccountNotice,
      async run({ now }, notice) {
        if (hasLink(notice)) return sendLink(notice, now)
        if (isOptional(notice)) {
          const to = { accountId: notice.accountId, kind: optionalKinds[notice.kind] }
          await deps.emails.sendAtOnce(to, (locale) => optionalEmailOf(notice, locale, deps.publicUrl))
          return
        }
        const account = await db.prisma.account.findUnique({
          where: { id: notice.accountId },
          select: { email: true, locale: true },
        })
        // Nobody remains to be notified, and an email written now would outlive the erasure's search for it.
        if (account && !(await isFenced(db, notice.accountId)))
          await mail.send({ to: account.email, about: notice.accountId, ...emailOf(notice, account.locale, deps) })
      },
    }),
  ]
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
      ...fields,
      id,
      email,
      passwordHash,
      createdAt: now,
      updatedAt: now,
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

/** Used instead of an unknown account, so that its request takes the same steps. */
const nobody = 'usr_0000000000000000000000'

/** Use cases to choose a password without knowing the old one, by an emailed link. */
const passwordLinkUse = (deps: AccountsDeps) => ({
  /**
   * Neither response nor timing reveals whether the address is known: an unknown address causes the same query, job and
   * audit entry.
   */
  askForReset: mutation(askForReset, async (ctx, { body }) => {
    const email = normaliseEmail(body.email)
    const who = createHash('sha256').update(email).digest('base64url').slice(0, 22)
    const network = deps.networkOf(ctx.ip)
    await countTry(deps.tries, [
      { key: `reset:${network}`, limit: 20 },
      { key: `reset:${who}:${network}`, limit: 5 },
    ])
    const record = await ctx.tx.account.findUnique({ where: { email }, select: { id: true } })
    const accountId = record?.id ?? nobody
    await enqueueNotice(ctx.tx, { kind: 'reset-link', by: 'anybody', accountId, at: ctx.now })
    return {
      resourceId: accountId,
      body: {
        message: 'If an account has this address, a link was created for it. It works for an hour.',
      },
    }
  }),

  usePasswordLink: mutation(usePasswordLink, async (ctx, { body: { code, new_password } }) => {
    const { tx, now } = ctx
    await countTry(deps.tries, [{ key: `account-link:${deps.networkOf(ctx.ip)}`, limit: passwordLinkTriesPerMinute }])
    const taken = await takePasswordLink(tx, code, now)
    const { accountId, email, passwordHash, mustChangePassword, purpose, isProof } = taken
    const isCurrent = passwordHash !== null && (await isPassword(passwordHash, new_password))
    const fault = isCurrent ? 'is_current' : passwordFault(new_password, '', email)
    if (fault !== undefined) throw invalid(['new_password'], passwordFaultText[fault])
    const others = await tx.account.count({ where: { email, id: { not: accountId } } })
    if (others > 0)
      throw new Problem(
        'conflict',
        'You already have an account with this address, and an account belongs to one organization. Sign in to that account. Nothing was changed.',
      )
    await tx.account.update({
      where: { id: accountId },
      // The link was sent to this address, so the address is verified, unless somebody else saw the link in the outbox.
      data: {
        email,
        invitedEmail: null,
        passwordHash: await hashPassword(new_password),
        mustChangePassword: false,
        passwordExpiresAt: null,
        ...(isProof && { emailVerifiedAt: now }),
        updatedAt: now,
      },
    })
    // The account was created by somebody else: choosing a password shows the person's own wish to have it.
    if (isProof && (passwordHash === null || mustChangePassword)) await deps.unsuppress(tx, 'email', email)
    const sessionsEnded = await endSessions(tx, accountId, now)
    await deps.requireOwner(tx, accountId)
    await endLinks(tx, accountId, now)
    await enqueueNotice(tx, { kind: 'password-set', accountId, at: now })
    return {
      resourceId: accountId,
      body: { data: { sessions_ended: sessionsEnded } },
      details: { changed: ['password'], by: purpose, sessions_ended: sessionsEnded },
    }
  }),
})

const me = (db: Database, { factorPolicy }: AccountsDeps) =>
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
            required_from: required ?? null,
          },
          telemetry: found.telemetryOffAt === null,
          created_at: found.createdAt,
        },
      },
    }
  })

/** A person's choice about usage events. */
const telemetryChoice = ({ destroyTelemetryKeys }: Pick<AccountsDeps, 'destroyTelemetryKeys'>) =>
  mutation(setTelemetry, async (ctx, { body: { enabled } }) => {
    const id = accountOf(ctx)
    const { count } = await ctx.tx.account.updateMany({
      where: { id, telemetryOffAt: enabled ? { not: null } : null },
      data: { telemetryOffAt: enabled ? null : ctx.now, updatedAt: ctx.now },
    })
    if (!enabled) await destroyTelemetryKeys(ctx.tx, ctx.now)
    return {
      resourceId: id,
      body: { data: { enabled } },
      details: { changed: count > 0 ? ['telemetry'] : [], on: enabled },
    }
  })

/** Functions that other domains and the command line call in their own transactions. */
const accountFunctions = (db: Database, deps: AccountsDeps) => ({
  /** Returns the account whose id has this mark, which is part of the file names of emails about it. */
  async accountMarked(mark: string): Promise<{ id: string; isNew: boolean; verifiedEmail: string | null } | undefined> {
    const [record] = await accountMarked(db, { mark })
    return record && { id: record.id, isNew: record.is_new, verifiedEmail: record.verified_email }
  },
  /** Records that an admin saw these links to choose a password. */
  async noteLinksShown(codes: readonly string[], now: Date): Promise<void> {
    await db.transaction((tx) => noteShown(tx, codes, now))
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
  ): Promise<void> => enqueueNotice(tx, { ...notice, at: deps.pipeline.clock.now() }),
})

/** Use cases for people, their passwords and their sessions. */
export const accountsService = (db: Database, deps: AccountsDeps) => ({
  ...signInUseCases(db, deps),
  ...ownIdentities(db, deps),
  ...ownPassword(db, deps),
  ...ownFactors(db, deps),
  ...factorRequirement(db, deps),
  ...ownSessions(db, deps),
  ...ownEmailChoices(db, deps),
  ...passwordLinkUse(deps),
  ...userAdministration(db, deps, { createAccount, createOrganisation }),
  ...organisationMembers(db, { createAccount, createOrganisation }),
  ...storeNamespaces(db, deps),
  ...accountDirectory,
  ...accountFunctions(db, deps),
  me: me(db, deps),
  setTelemetry: telemetryChoice(deps),
})

export const accountsData = (
  db: Database,
  revokeAdminTokens: Parameters<typeof accountDataSource>[1],
): PersonalData => ({
  dataSources: [
    sessionDataSource(db),
    signInDataSource(db),
    linkDataSource(db),
    factorDataSource(db),
    recoveryCodeDataSource(db),
    emailChoiceDataSource(db),
    readNoticeDataSource(db),
    identityDataSource(db),
    accountDataSource(db, revokeAdminTokens),
  ],
  personExporters: accountExporters(db),
})

/** What accounts take from the platform by name, and what other modules give them. */
interface AccountsModuleParts extends Pick<AccountsDeps, 'pipeline' | 'requireApproval' | 'destroyTelemetryKeys'> {
  db: Database
  env: Env
  keyFor(purpose: string): () => Uint8Array
  limiter: Tries
  mail: MailPort
  origin: string
  networks: { limitKeyOf(address: string): string }
  suppressed: { lift: AccountsDeps['unsuppress'] }
  tokens: {
    requireOwner(tx: Transaction, agentIds: readonly string[]): Promise<void>
    revokeAdmin(
      ctx: MutationContext,
      of: { accountId: string; agents: readonly string[] },
      reason: 'owner_role' | 'owner_closed',
    ): Promise<number>
  }
}

/** People, organizations, passwords and sessions. */
export function accountsModule(parts: AccountsModuleParts) {
  const { db, env, keyFor, mail, origin, tokens } = parts
  const links = unsubscribeLinks(keyFor('unsubscribe links'))
  const emails = optionalEmails({ db, mail, origin, links })
  const accounts = accountsService(db, {
    ...parts,
    unsubscribeLinks: links,
    tries: parts.limiter,
    networkOf: parts.networks.limitKeyOf,
    markKey: keyFor('known sign-ins'),
    challenges: createChallenges(keyFor('passkey challenges')),
    totpKey: keyFor(sealedPurposes.totpSecrets),
    party: { origin },
    factorPolicy: factorPolicySetting(db),
    graceSignIn: env.KP_GRACE_SIGN_IN,
    unsuppress: parts.suppressed.lift,
    requireOwner: async (tx, accountId) => tokens.requireOwner(tx, await agentsOfAccount(tx, accountId)),
    revokeAdminTokens: async (ctx, accountId, reason) =>
      tokens.revokeAdmin(ctx, { accountId, agents: await agentsOfAccount(ctx.tx, accountId) }, reason),
  })
  return {
    useCases: { accounts },
    jobs: accountsJobs(db, mail, { publicUrl: origin, provider: openIdProvider(env)?.name, emails }),
    emailJobs: [noticeJob, digestEmailJob],
    /** Emails that people can turn off. */
    emails,
  }
}
