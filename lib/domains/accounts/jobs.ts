import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { lettersKept } from '#lib/stores/mail/letters-held.ts'
import type { Letter, MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { identityLinkedMail, invitationMail, passwordSetMail, resetLinkMail } from './link-mails.ts'
import { type Addressee, dropLink, makeLink } from './links.ts'
import {
  passwordResetMail,
  storageWarningMail,
  storeRefusesMail,
  storeUnavailableMail,
  tokenIssuedMail,
  tokenRevokedMail,
} from './mails.ts'
import { Notice, noticeJob } from './notices.ts'
import { endedLinksKept, endedSessionsKept, knownFor, localeNamed } from './rules.ts'
import { removeUninvited } from './uninvited.ts'

type LinkNotice = Extract<Notice, { kind: 'invitation' | 'reset-link' }>
type PlainNotice = Exclude<Notice, LinkNotice>
const hasLink = (notice: Notice): notice is LinkNotice => notice.kind === 'invitation' || notice.kind === 'reset-link'

export interface AccountsJobsParts {
  publicUrl: string
  /** Display name of the identity provider. */
  provider?: string | undefined
  /**
   * Returns true when another domain has a record about the account that prevents its deletion: a privacy request or a
   * legal hold.
   */
  isOnRecord(tx: Transaction, accountId: string): Promise<boolean>
}

function letterOf(notice: PlainNotice, locale: string, parts: AccountsJobsParts): Omit<Letter, 'to'> {
  const facts = { url: parts.publicUrl, at: new Date(notice.at) }
  switch (notice.kind) {
    case 'token-revoked': {
      const { keyPrefix, descendants } = notice
      return tokenRevokedMail(localeNamed(locale), { ...facts, keyPrefix, descendants })
    }
    case 'token-issued':
      return tokenIssuedMail(localeNamed(locale), { ...facts, keyPrefix: notice.keyPrefix })
    case 'storage-warning':
      return storageWarningMail(localeNamed(locale), { ...facts, percent: notice.percent })
    case 'password-reset':
      return passwordResetMail(localeNamed(locale), facts)
    case 'password-set':
      return passwordSetMail(localeNamed(locale), facts)
    case 'store-unavailable': {
      const { store, runs, since } = notice
      return storeUnavailableMail(localeNamed(locale), { ...facts, store, runs, since: new Date(since) })
    }
    case 'store-refuses': {
      const { store, runs, since, refusal } = notice
      return storeRefusesMail(localeNamed(locale), { ...facts, store, runs, since: new Date(since), refusal })
    }
    case 'identity-linked':
      return identityLinkedMail(localeNamed(locale), { ...facts, provider: parts.provider ?? 'OpenID' })
  }
}
function linkLetterOf(notice: LinkNotice, to: Addressee, url: string): Omit<Letter, 'to'> {
  const facts = { url, code: to.code, at: new Date(notice.at) }
  return notice.kind === 'invitation'
    ? invitationMail(localeNamed(to.locale), { ...facts, organisation: to.organisation })
    : resetLinkMail(localeNamed(to.locale), facts)
}

/**
 * Jobs that delete expired sessions, links, sign-in marks, unaccepted accounts and emails in the mail folder, and that
 * send notices.
 */
export function accountsJobs(db: Database, mail: MailPort, parts: AccountsJobsParts) {
  /** Creates the link together with its email, so that no code is stored in the queue. If sending fails, the link is deleted. */
  async function sendLink(notice: LinkNotice, now: Date): Promise<void> {
    const { accountId } = notice
    const letterFor =
      notice.kind === 'invitation'
        ? ({ purpose: 'invitation', by: 'admin' } as const)
        : ({ purpose: 'reset', by: notice.by } as const)
    const to = await db.transaction((tx) => makeLink(tx, accountId, letterFor, now))
    if (!to) return
    const letter = { to: to.email, about: accountId, ...linkLetterOf(notice, to, parts.publicUrl) }
    await mail.send(letter).catch(async (error: unknown) => {
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
        const before = (kept: number) => [new Date(now.getTime() - kept)]
        await db.query(
          'sessions-purge',
          'DELETE FROM sessions WHERE expires_at < $1 OR revoked_at < $1',
          before(endedSessionsKept),
        )
        await db.query(
          'account-links-purge',
          'DELETE FROM account_links WHERE expires_at < $1 OR used_at < $1',
          before(endedLinksKept),
        )
        await db.query('known-sign-ins-purge', 'DELETE FROM known_sign_ins WHERE last_at < $1', before(knownFor))
        await mail.prune(new Date(now.getTime() - lettersKept))
        await removeUninvited(ctx, db, parts.isOnRecord)
      },
    }),
    job({
      name: noticeJob,
      payload: Notice,
      async run({ now }, notice) {
        if (hasLink(notice)) return sendLink(notice, now)
        const account = await db.prisma.account.findUnique({
          where: { id: notice.accountId },
          select: { email: true, locale: true },
        })
        const fenced = await db.query('account-fenced', "SELECT 1 FROM fenced WHERE kind = 'account' AND id = $1", [
          notice.accountId,
        ])
        // Nobody remains to be notified, and an email written now would outlive the erasure's search for it.
        if (account && fenced.length === 0)
          await mail.send({ to: account.email, about: notice.accountId, ...letterOf(notice, account.locale, parts) })
      },
    }),
  ]
}
