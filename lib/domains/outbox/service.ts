import type { z } from 'zod'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { type StoredJobRun, storedJobRuns } from '#lib/jobs/queue.ts'
import { isSameAddress } from '#lib/kernel/address-forms.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { notOurCursor, pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read, requireRecentPassword } from '#lib/kernel/use-case.ts'
import { emailContent } from '#lib/stores/mail/email-content.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import { type EmailOutboxFolder, type ListedEmail, outboxRetention } from '#lib/stores/mail/outbox-folder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type EmailView, listOutboxEmails, readOutboxEmail, sendTest } from './contract.ts'

interface MarkedAccount {
  id: string
  /** Nobody has accepted the invitation to this account. */
  isNew: boolean
  /** Null while nobody has proved to receive emails of the account's address. */
  verifiedEmail: string | null
}
interface OutboxServiceDeps {
  db: Database
  mail: Pick<MailPort, 'send'> & { folder: EmailOutboxFolder }
  storeLocations: { mail: 'folder' | 'server' }
  /** Names of the jobs that send emails. */
  emailJobs: readonly string[]
  accounts: {
    /** The account that emails with this mark are about. Undefined when it is deleted or the mark means something else. */
    accountMarked(mark: string): Promise<MarkedAccount | undefined>
    /** Records that an admin saw the links with these secrets. Who uses them afterwards need not receive emails of the address. */
    noteLinksShown(secrets: readonly string[], now: Date): Promise<unknown>
  }
  /** The same for links in emails about privacy requests. */
  noteRequestLinksShown(tx: Transaction, secrets: readonly string[], now: Date): Promise<unknown>
  /** @throws Problem `rate_limited` above the limit of one minute */
  countTry(window: { key: string; limit: number }): Promise<void>
  /** Whether consequential actions of admins need the approval of a second admin. */
  approvals: { isRequired(): Promise<boolean> }
}
/** Test emails of one admin per minute: each waits for the mail server. */
export const testEmailsPerMinute = 5
/** Maximum number of listed jobs. The counts cover all jobs. */
const shownJobs = 50

/** A link authorizes its bearer, so it is only shown on explicit request. */
const link = /https?:\/\/[^\s<>"]+/g

/** The text of an email with each link replaced by a number such as `‹1›`, and the links. */
function withoutLinks(text: string): { text: string; links: string[] } {
  const links: string[] = []
  const bare = text.replace(link, (found) => {
    if (!links.includes(found)) links.push(found)
    return `‹${links.indexOf(found) + 1}›`
  })
  return { text: bare, links }
}

const purposes: Readonly<Record<string, string>> = {
  '/password/new': 'password',
  '/privacy/confirm': 'privacy',
  '/emails/unsubscribe': 'unsubscribe',
}
/** Purposes of the links: fixed names, without any part of a link. */
const purposesOf = (links: readonly string[]): string[] =>
  [...new Set(links.flatMap((one) => (URL.canParse(one) ? (purposes[new URL(one).pathname] ?? []) : [])))].sort()

/** Returns true when the bearer of the link can act as the recipient of the email. */
const isSecret = (one: string): boolean => !URL.canParse(one) || new URL(one).hash !== '' || new URL(one).search !== ''
const passwordCodeIn = (one: string): string[] =>
  URL.canParse(one) && new URL(one).pathname === '/password/new' ? [new URL(one).hash.slice(1)] : []
/** Returns true for the page of a request by somebody without an account, to whom an admin forwards the answer. It confirms nothing. */
const isStatusPage = (one: string): boolean => URL.canParse(one) && new URL(one).pathname === '/request/status'

/** Returns true for a link that proves that its bearer receives the emails of a new address, so only the recipient may have it. */
const provesAddress = (one: string): boolean =>
  URL.canParse(one) && new URL(one).pathname === '/privacy/confirm' && new URL(one).hash.startsWith('#address.')
/** The secret of a link, which follows `#`, after the purpose if there is one. */
const secretIn = (one: string): string[] => {
  const secret = URL.canParse(one) ? new URL(one).hash.slice(1).split('.').at(-1) : undefined
  return secret ? [secret] : []
}
/** Returns true when the account received the email. An email about an account can go to any other address. */
const isReceivedBy = (account: MarkedAccount, to: string): boolean =>
  account.verifiedEmail !== null && isSameAddress(account.verifiedEmail, to)

/** The id of an email is its file name without the extension. */
const idOf = (name: string): string => name.replace(/\.eml$/, '')
const emailFileName = (id: string): string => `${id}.eml`

const listed = ({ name, to, subject, writtenAt, bytes }: ListedEmail): z.input<typeof EmailView> => ({
  id: idOf(name),
  to,
  subject,
  written_at: writtenAt,
  expires_at: new Date(writtenAt.getTime() + outboxRetention),
  bytes,
})
/** The codes in the reason of a failure. The message of a server may repeat addresses. */
const codesOf = (error: unknown): string =>
  /\(([\w .-]{1,60})\)/.exec(error instanceof Error ? error.message : '')?.[1] ?? 'unknown'

const testEmail = (locale: 'en' | 'zh') =>
  locale === 'zh'
    ? emailContent(locale, '测试邮件', ['这封邮件由您在控制台发出。您能读到它，说明邮件发送正常。'])
    : emailContent(locale, 'Test email', [
        'You sent this email from the console. Because you can read it, emails work.',
      ])

const queued = ({ attemptLimit, at, ...job }: StoredJobRun) => ({
  ...job,
  most_attempts: attemptLimit,
  at,
})

/** Emails in the folder, which no mail server delivered, and emails still to be sent. */
const outboxService = ({
  db,
  mail,
  storeLocations,
  emailJobs,
  accounts,
  noteRequestLinksShown,
  countTry,
  approvals,
}: OutboxServiceDeps) => ({
  list: read(listOutboxEmails, async (_ctx, { query: { q, cursor, limit } }) => {
    const after = parseCursor(cursor)
    if (after && !after.id.endsWith('.eml')) throw notOurCursor()
    const [{ letters: emails, total }, { jobs, counts }] = await Promise.all([
      mail.folder.list({ after: after?.id, limit: limit + 1, text: q }),
      storedJobRuns(db, emailJobs, shownJobs),
    ])
    const { shown, page } = pageOf(emails, limit, total, ({ writtenAt, name }) => ({ at: writtenAt, id: name }))
    return {
      body: {
        data: shown.map(listed),
        ...page,
        delivery: storeLocations.mail,
        queue: { ...counts, jobs: jobs.map(queued) },
      },
      resourceId: 'list',
      details: { count: shown.length },
    }
  }),

  sendTest: read(sendTest, async ({ actor }) => {
    const contact =
      actor.accountId === undefined ? undefined : await accountDirectory.contactOf(db.prisma, actor.accountId)
    if (!contact || actor.accountId === undefined)
      throw new Problem('forbidden', 'A test email goes to the address of your account, and a token has none. Sign in.')
    await countTry({ key: `test-email:${actor.accountId}`, limit: testEmailsPerMinute })
    const sent = { result: storeLocations.mail === 'folder' ? ('folder' as const) : ('sent' as const), reason: null }
    const { result, reason } = await mail
      .send({ to: contact.email, about: actor.accountId, ...testEmail(contact.locale) })
      .then(
        () => sent,
        (error: unknown) => ({ result: 'failed' as const, reason: codesOf(error) }),
      )
    return {
      body: { data: { result, to: contact.email, reason } },
      resourceId: 'test',
      details: { result },
    }
  }),

  read: read(readOutboxEmail, async ({ actor, now }, { params: { id }, query: { links: wanted } }) => {
    const isShown = wanted === 'show'
    // A link to choose a password gives control of the account, so the audit log must name a person.
    if (isShown && actor.accountId === undefined)
      throw new Problem('forbidden', 'Only the session of an admin can show links. Tokens cannot read them.')
    // A link to choose a password takes over an account, also the admin's own.
    if (isShown) requireRecentPassword({ actor, now })
    const found = await mail.folder.read(emailFileName(id))
    if (!found) throw new Problem('not_found', 'No email has this id. Emails are deleted after 7 days.')
    const { text, links } = withoutLinks(found.text ?? '')
    const mark = isShown ? mail.folder.markIn(found.name) : undefined
    const about = mark === undefined ? undefined : await accounts.accountMarked(mark)
    if (isShown && links.some(provesAddress))
      throw new Problem(
        'forbidden',
        'This link proves who receives the emails of a new address, so no admin sees it. Configure a mail server (KP_SMTP_URL), which sends it to that address.',
      )
    const isOwn = about !== undefined && about.id === actor.accountId && isReceivedBy(about, found.to)
    // A link acts as its recipient: with it, an admin could take over an account, approve as another admin, or confirm the identity of a person.
    if (isShown && !isOwn && links.some(isSecret)) {
      if (await approvals.isRequired())
        throw new Problem(
          'forbidden',
          'While two-person approval is on, admins see only links of emails to their own verified address. Configure a mail server (KP_SMTP_URL), or reset the password on the server (kp admin reset-password).',
        )
      const codes = links.flatMap(passwordCodeIn)
      const others = links.filter((one) => isSecret(one) && passwordCodeIn(one).length === 0)
      const mayForward = about ? about.isNew && others.length === 0 : codes.length === 0 && others.every(isStatusPage)
      if (!mayForward)
        throw new Problem(
          'forbidden',
          'These links act as their recipient, so admins see only those of emails to their own verified address, of invitations that nobody has accepted, and of answers to people without an account. Configure a mail server (KP_SMTP_URL), or reset the password on the server (kp admin reset-password).',
        )
    }
    if (isShown) {
      const secrets = links.flatMap(secretIn)
      await accounts.noteLinksShown(secrets, now)
      if (!isOwn) await noteRequestLinksShown(db.prisma, secrets, now)
    }
    return {
      body: {
        data: {
          ...listed(found),
          text: found.text === null ? null : text,
          is_cut: found.isCut,
          link_count: links.length,
          links: isShown ? links : null,
        },
      },
      resourceId: id,
      details: {
        links: isShown ? 'shown' : 'hidden',
        count: links.length,
        ...(isShown && { purposes: purposesOf(links) }),
        ...(about !== undefined && { about: about.id }),
      },
    }
  }),
})

/** Emails that no mail server delivers, and emails still to be sent. */
export const outboxModule = (deps: OutboxServiceDeps) => ({ useCases: { outbox: outboxService(deps) } })
