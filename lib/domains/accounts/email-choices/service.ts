import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { storesWithWaitingErasures } from '#lib/domains/erasure/queries.ts'
import { quarantined } from '#lib/domains/knowledge/queries.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { type EmailSections, optionalEmailContent, emailTime as time } from '#lib/stores/mail/email-content.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { isFenced } from '../links.ts'
import { storeNames } from '../mails.ts'
import { accountOf } from '../own-account.ts'
import type { AccountsDeps } from '../ports.ts'
import { accountDirectory } from '../queries.ts'
import { adminAccounts, choicesOf, otherReceivers, storeChoice } from '../repository.ts'
import { type Locale, localeNamed } from '../rules.ts'
import { chooseEmail, type EmailChoiceView, listEmailChoices, readUnsubscription, unsubscribe } from './contract.ts'
import {
  type EmailDelivery,
  type EmailKind,
  effectiveDelivery,
  emailKindRules,
  emailKinds,
  isInDigest,
} from './rules.ts'

interface UnsubscribeTarget {
  accountId: string
  kinds: EmailKind[]
}

/**
 * Links that turn off emails. The token contains the account's id, the kinds and an HMAC, so nothing is stored, and the link works as
 * long as the account and the installation's secret exist.
 */
export function unsubscribeLinks(key: () => Uint8Array) {
  const macOf = (content: string) => createHmac('sha256', key()).update(content).digest()
  return {
    tokenFor({ accountId, kinds }: UnsubscribeTarget): string {
      const content = Buffer.from(`${accountId} ${kinds.join(' ')}`).toString('base64url')
      return `${content}.${macOf(content).toString('base64url')}`
    },
    /** Undefined for a token that is not ours. */
    targetOf(token: string): UnsubscribeTarget | undefined {
      const [content = '', given = '', ...more] = token.split('.')
      const [expected, sent] = [macOf(content), Buffer.from(given, 'base64url')]
      if (more.length > 0 || sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined
      const [accountId = '', ...names] = Buffer.from(content, 'base64url').toString('utf8').split(' ')
      return { accountId, kinds: emailKinds.filter((kind) => names.includes(kind)) }
    },
  }
}
type UnsubscribeLinks = ReturnType<typeof unsubscribeLinks>

interface KindChoice {
  chosen: EmailDelivery
  /** What applies: see {@link effectiveDelivery}. */
  delivery: EmailDelivery
  /** Nobody else gets emails of this kind, and somebody must. */
  isOnlyReceiver: boolean
}
interface OptionalEmailTo {
  accountId: string
  kind: EmailKind
}

/** The choice of a person for a kind of email. The only function that decides whether an optional email is sent. */
async function choiceOf(on: Transaction, accountId: string, kind: EmailKind): Promise<KindChoice> {
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
export function optionalEmails({
  db,
  mail,
  origin,
  links,
}: {
  db: Database
  mail: MailPort
  origin: string
  links: UnsubscribeLinks
}) {
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
      to: to.email,
      about: to.accountId,
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

async function viewOf(on: Transaction, accountId: string, kind: EmailKind): Promise<EmailChoiceView> {
  const { delivery, isOnlyReceiver } = await choiceOf(on, accountId, kind)
  return { kind, delivery, choices: [...emailKindRules[kind].choices], is_only_receiver: isOnlyReceiver }
}

/** The kinds of email that the account can get. */
async function kindsOf(on: Transaction, accountId: string): Promise<EmailKind[]> {
  const account = await on.account.findUnique({ where: { id: accountId }, select: { role: true } })
  if (!account) return []
  return emailKinds.filter((kind) => !emailKindRules[kind].isForAdmins || account.role === 'admin')
}

/** Locks all admins before one of them turns off a kind that somebody must get, so that two cannot do so at once. */
async function lockReceivers(tx: Transaction, kinds: readonly EmailKind[]): Promise<void> {
  if (kinds.some((kind) => emailKindRules[kind].needsReceiver)) await adminAccounts(tx, {}, 'lock')
}

const store = (tx: Transaction, account: string, change: { kind: EmailKind; delivery: EmailDelivery; now: Date }) =>
  storeChoice(tx, { id: newId('emc'), account, ...change })

const onlyReceiver = () =>
  new Problem(
    'conflict',
    'Nobody else gets these emails, and at least one admin must. Another admin has to turn them on first. Nothing was changed.',
  )
const noSuchLink = () =>
  new Problem('not_found', 'This link is not valid, or the account no longer exists. Nothing was changed.')

const choose = () =>
  mutation(chooseEmail, async ({ tx, now, actor }, { params: { kind }, body: { delivery } }) => {
    const account = accountOf({ actor })
    if (!(await kindsOf(tx, account)).includes(kind))
      throw new Problem('not_found', 'Your account gets no emails of this kind.')
    if (!emailKindRules[kind].choices.includes(delivery))
      throw invalid(['delivery'], `must be one of ${emailKindRules[kind].choices.join(', ')}`)
    if (delivery === 'never') {
      await lockReceivers(tx, [kind])
      if ((await choiceOf(tx, account, kind)).isOnlyReceiver) throw onlyReceiver()
    }
    await store(tx, account, { kind, delivery, now })
    return {
      resourceId: account,
      body: { data: await viewOf(tx, account, kind) },
      details: { changed: ['emails'], kind, to: delivery },
    }
  })

async function targetOf(
  on: Transaction,
  links: Pick<UnsubscribeLinks, 'targetOf'>,
  token: string,
): Promise<UnsubscribeTarget> {
  const target = links.targetOf(token)
  if (!target || (await on.account.count({ where: { id: target.accountId } })) === 0) throw noSuchLink()
  return target
}
async function areOff(on: Transaction, { accountId, kinds }: UnsubscribeTarget): Promise<boolean> {
  const choices = await Promise.all(kinds.map((kind) => choiceOf(on, accountId, kind)))
  return choices.every(({ chosen }) => chosen === 'never')
}

const turnOff = ({ unsubscribeLinks }: Pick<AccountsDeps, 'unsubscribeLinks'>) =>
  mutation(unsubscribe, async ({ tx, now }, { query: { token } }) => {
    const target = await targetOf(tx, unsubscribeLinks, token)
    const { accountId, kinds } = target
    await lockReceivers(tx, kinds)
    const turnedOff: EmailKind[] = []
    for (const kind of kinds) {
      const { isOnlyReceiver, chosen } = await choiceOf(tx, accountId, kind)
      if (isOnlyReceiver || chosen === 'never') continue
      await store(tx, accountId, { kind, delivery: 'never', now })
      turnedOff.push(kind)
    }
    const isOff = await areOff(tx, target)
    if (!isOff && turnedOff.length === 0) throw onlyReceiver()
    return {
      resourceId: accountId,
      body: { data: { kinds, is_off: isOff } },
      details: { changed: turnedOff.length > 0 ? ['emails'] : [], kinds: turnedOff, to: 'never' },
    }
  })

/** Use cases of people for the emails that they get. */
export const ownEmailChoices = (db: Database, deps: Pick<AccountsDeps, 'unsubscribeLinks'>) => ({
  emailChoices: read(listEmailChoices, async (ctx) => {
    const account = accountOf(ctx)
    const kinds = await kindsOf(db.prisma, account)
    return {
      resourceId: account,
      body: { data: await Promise.all(kinds.map((kind) => viewOf(db.prisma, account, kind))) },
    }
  }),
  chooseEmail: choose(),
  readUnsubscription: read(readUnsubscription, async (_ctx, { query: { token } }) => {
    const target = await targetOf(db.prisma, deps.unsubscribeLinks, token)
    return { resourceId: '', body: { data: { kinds: target.kinds, is_off: await areOff(db.prisma, target) } } }
  }),
  unsubscribe: turnOff(deps),
})

/** A section in the language of the recipient; undefined when nothing needs attention. */
type DigestSource = (now: Date) => Promise<((locale: Locale) => EmailSections[number]) | undefined>
interface DigestDeps {
  db: Database
  origin: string
  emails: Pick<OptionalEmails, 'sendDigest'>
  /** Requests that are due. */
  requests: DigestSource
  /** Numbers of compliance checks that fail or need attention. */
  controls(now: Date): Promise<{ fails: number; attention: number }>
}
type DigestSources = Readonly<Partial<Record<EmailKind, DigestSource>>>

/** What has a section in the digest of admins if it needs attention. */
const digestSources = ({ controls, db, origin, requests }: DigestDeps): DigestSources => ({
  requests,
  async outages() {
    const stores = await storesWithWaitingErasures(db)
    return stores.length === 0 ? undefined : (locale) => outagesSection(locale, stores, `${origin}/admin/erasures`)
  },
  async controls(now) {
    const counts = await controls(now)
    return counts.fails + counts.attention === 0
      ? undefined
      : (locale) => controlsSection(locale, counts, `${origin}/admin/compliance`)
  },
  async safety() {
    const count = await quarantined(db)
    return count === 0 ? undefined : (locale) => safetySection(locale, count, `${origin}/admin/safety`)
  },
})
export const digestEmailJob = 'accounts.digest-email'

async function sectionsAt(sources: DigestSources, now: Date) {
  const found = await Promise.all(
    Object.entries(sources).map(async ([kind, source]) => [kind, await source(now)] as const),
  )
  return Object.fromEntries(found.filter(([, write]) => write !== undefined))
}

/** Once a day, one email to each admin about what needs attention at that time, if they get such emails. */
export function digestJobs(deps: DigestDeps) {
  const sources = digestSources(deps)
  return [
    job({
      name: 'accounts.digest',
      payload: z.unknown(),
      cron: '0 6 * * *',
      // A worker that is restarted at that time sends it late instead of a day later.
      catchUp: 12 * 3_600_000,
      async run(ctx) {
        if (Object.keys(await sectionsAt(sources, ctx.now)).length === 0) return
        await ctx.pipeline.transaction(async (tx) => {
          for (const { accountId } of await accountDirectory.adminContacts(tx))
            await enqueue(tx, digestEmailJob, { accountId }, { key: `${digestEmailJob}:${accountId}`, maxAttempts: 12 })
        })
      },
    }),
    job({
      name: digestEmailJob,
      payload: z.strictObject({ accountId: z.string() }),
      async run({ now }, { accountId }) {
        await deps.emails.sendDigest(accountId, await sectionsAt(sources, now))
      },
    }),
  ]
}

type DigestSection = EmailSections[number]

/** Stores for which erasures wait. */
export function outagesSection(
  locale: Locale,
  stores: readonly { store: string; runs: number; since: Date; isRefusing: boolean }[],
  page: string,
): DigestSection {
  const lines = stores.map(({ store, runs, since, isRefusing }) => {
    const name = storeNames[locale][store] ?? store
    return locale === 'zh'
      ? `${name}：${isRefusing ? '拒绝执行' : '没有响应'}，自 ${time(since)} 起有 ${runs} 个删除任务等待。`
      : `${name}: ${isRefusing ? 'rejects erasures' : 'does not respond'}. ${runs === 1 ? 'One erasure waits' : `${runs} erasures wait`} since ${time(since)}.`
  })
  return {
    subject: locale === 'zh' ? '删除任务正在等待数据存储' : 'Erasures wait for stores',
    paragraphs: [...lines, page],
  }
}

/** Compliance checks that fail or need attention. */
export const controlsSection = (
  locale: Locale,
  { fails, attention }: { fails: number; attention: number },
  page: string,
): DigestSection =>
  locale === 'zh'
    ? { subject: '合规检查未通过', paragraphs: [`未通过：${fails}。需要关注：${attention}。`, page] }
    : {
        subject: 'Compliance checks need attention',
        paragraphs: [`Failing: ${fails}. Need attention: ${attention}.`, page],
      }

/** Content in quarantine. */
export const safetySection = (locale: Locale, count: number, page: string): DigestSection =>
  locale === 'zh'
    ? { subject: '隔离内容等待审核', paragraphs: [`等待审核的隔离内容：${count}。`, page] }
    : {
        subject: 'Quarantined content waits for a review',
        paragraphs: [`Items in quarantine: ${count}.`, page],
      }
