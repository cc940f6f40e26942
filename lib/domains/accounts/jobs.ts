import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { outboxRetention } from '#lib/stores/mail/data-source.ts'
import type { EmailSections } from '#lib/stores/mail/email-content.ts'
import type { Email, MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { EmailKind } from './email-choices/rules.ts'
import type { OptionalEmails } from './email-choices/service.ts'
import { isOnRecord } from './invitations.ts'
import { type Addressee, dropLink, isFenced, makePasswordLink } from './links.ts'
import {
  approvalDecidedMail,
  approvalRequestedMail,
  dataExportedMail,
  identityLinkedMail,
  invitationMail,
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
import { deleteEndedSessions, deleteLinks, deleteSignInMarks, lockUninvited, uninvitedAccounts } from './repository.ts'
import {
  endedLinkRetention,
  endedSessionRetention,
  invitedFor,
  type Locale,
  localeNamed,
  signInPlaceRemembered,
} from './rules.ts'
import { AccountNotice, dropOrganisationIfEmpty, noticeJob } from './writes.ts'

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
  const facts = { url: deps.publicUrl, at: new Date(notice.at) }
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
      return secondFactorReminderMail(localeNamed(locale), { ...facts, requiredFrom: new Date(notice.requiredFrom) })
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
      return approvalRequestedMail(locale, { url, at: new Date(notice.at) })
    case 'approval-decided':
      return approvalDecidedMail(locale, { url, at: new Date(notice.at), isApproved: notice.decision === 'approved' })
  }
}
function linkEmailOf(notice: LinkNotice, to: Addressee, url: string): Omit<Email, 'to'> {
  const facts = { url, code: to.code, at: new Date(notice.at) }
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
