import { isFenced } from '#lib/domains/accounts/links.ts'
import { type Locale, localeNamed } from '#lib/domains/accounts/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type EmailSections, optionalEmailContent } from '#lib/stores/mail/email-content.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { choicesOf, otherReceivers } from './repository.ts'
import { type EmailDelivery, type EmailKind, effectiveDelivery, emailKindRules, isInDigest } from './rules.ts'
import type { UnsubscribeLinks } from './unsubscribe-links.ts'

export interface OptionalEmailDeps {
  db: Database
  mail: MailPort
  origin: string
  links: UnsubscribeLinks
}
export interface KindChoice {
  chosen: EmailDelivery
  /** What applies: see {@link effectiveDelivery}. */
  delivery: EmailDelivery
  /** Nobody else gets emails of this kind, and somebody must. */
  isOnlyReceiver: boolean
}
export interface OptionalEmailTo {
  accountId: string
  kind: EmailKind
}

/** The choice of a person for a kind of email. The only function that decides whether an optional email is sent. */
export async function choiceOf(on: Transaction, accountId: string, kind: EmailKind): Promise<KindChoice> {
  const { usual, needsReceiver } = emailKindRules[kind]
  const chosen = (await choicesOf(on, { account: accountId })).find((one) => one.kind === kind)?.delivery ?? usual
  const [others] = needsReceiver ? await otherReceivers(on, { account: accountId, kind, usual }) : []
  const isOnlyReceiver = needsReceiver && (others?.n ?? 0) === 0
  return { chosen, isOnlyReceiver, delivery: effectiveDelivery(kind, chosen, isOnlyReceiver) }
}

/** The recipient, if they still may get emails of these kinds: an email to an erased account would outlive the erasure's search. */
async function recipientOf(tx: Transaction, accountId: string) {
  const account = await tx.account.findUnique({
    where: { id: accountId, deactivatedAt: null },
    select: { email: true, locale: true, role: true },
  })
  return account && !(await isFenced(tx, accountId)) ? account : undefined
}

/** Sends emails that people can turn off, with a link that turns them off. */
export function optionalEmails({ db, mail, origin, links }: OptionalEmailDeps) {
  async function deliver(
    to: { accountId: string; email: string; locale: Locale },
    sections: EmailSections,
    kinds: readonly { kind: EmailKind; isOnlyReceiver: boolean }[],
  ): Promise<void> {
    const switchable = kinds.filter(({ isOnlyReceiver }) => !isOnlyReceiver).map(({ kind }) => kind)
    const token = switchable.length > 0 && links.tokenFor({ accountId: to.accountId, kinds: switchable })
    const unsubscribe = token
      ? { page: `${origin}/emails/unsubscribe#${token}`, oneClick: `${origin}/api/emails/unsubscribe?token=${token}` }
      : undefined
    await mail.send({
      ...{ to: to.email, about: to.accountId },
      ...optionalEmailContent(to.locale, sections, unsubscribe),
    })
  }

  return {
    /** Sends the email now if the person gets emails of its kind at once. Returns whether it was sent. */
    async sendAtOnce({ accountId, kind }: OptionalEmailTo, write: (locale: Locale) => EmailSections): Promise<boolean> {
      const ready = await db.transaction(async (tx) => {
        const account = await recipientOf(tx, accountId)
        if (!account || (emailKindRules[kind].isForAdmins && account.role !== 'admin')) return undefined
        return { account, choice: await choiceOf(tx, accountId, kind) }
      })
      if (ready?.choice.delivery !== 'at_once') return false
      const { account, choice } = ready
      const locale = localeNamed(account.locale)
      await deliver({ accountId, email: account.email, locale }, write(locale), [{ kind, ...choice }])
      return true
    },

    /** Sends an admin one email with the sections of the kinds that they get daily. Returns whether it was sent. */
    async sendDigest(
      accountId: string,
      sections: Readonly<Partial<Record<EmailKind, (locale: Locale) => EmailSections[number]>>>,
    ): Promise<boolean> {
      const ready = await db.transaction(async (tx) => {
        const account = await recipientOf(tx, accountId)
        if (account?.role !== 'admin') return undefined
        const kinds: { kind: EmailKind; isOnlyReceiver: boolean; write: (locale: Locale) => EmailSections[number] }[] =
          []
        for (const kind of Object.keys(sections) as EmailKind[]) {
          const { delivery, isOnlyReceiver } = await choiceOf(tx, accountId, kind)
          const write = sections[kind]
          if (write && isInDigest(kind, delivery)) kinds.push({ kind, isOnlyReceiver, write })
        }
        return { account, kinds }
      })
      if (!ready || ready.kinds.length === 0) return false
      const { account, kinds } = ready
      const locale = localeNamed(account.locale)
      const to = { accountId, email: account.email, locale }
      await deliver(
        to,
        kinds.map(({ write }) => write(locale)),
        kinds,
      )
      return true
    },
  }
}
export type OptionalEmails = ReturnType<typeof optionalEmails>
