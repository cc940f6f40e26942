import { randomBytes } from 'node:crypto'
import type { ClientBase } from 'pg'
import { z } from 'zod'
import { sealedPurposes, unsealed } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { base62, hashOf } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import { type EmailContent, emailContent, emailTime } from '#lib/stores/mail/email-content.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { kindNames as chineseKindNames } from '../emails/emails-chinese.ts'
import { kindNames as englishKindNames } from '../emails/emails-english.ts'
import { makeRequestLink, openContact } from '../filing/links.ts'
import type { PrivacyDeps, RequestLocale } from '../ports.ts'
import { knownSubjects, lockSubject, storeSubjectKeys } from '../repository.ts'
import { formHash, note, requestSubjectHash, settle, systemWork, withParts } from '../requests.ts'
import type { RequestKind } from '../rules.ts'
import {
  addressedRequests,
  countEmailsToAddress,
  sealedFormContents,
  storeAddressKeys,
  storeFormKeys,
} from './repository.ts'
import { formEmailsPerHour, maxFormEmailsPerHour, statusPageOf } from './rules.ts'
import { confirmFormJob, openForm, statusLinksJob } from './service.ts'

const hourBefore = (now: Date): Date => new Date(now.getTime() - 3_600_000)

/** Creates the link; deletes the request instead when its address received too many emails. */
async function linkToConfirm(deps: PrivacyDeps, tx: Transaction, id: string, now: Date) {
  const given = await tx.unconfirmedRequest.findUnique({ where: { id } })
  if (!given) return undefined
  await lockSubject(tx, { subjectKey: given.addressKey })
  const [sent] = await countEmailsToAddress(tx, {
    id,
    address: given.addressKey,
    network: given.networkKey,
    since: hourBefore(now),
  })
  // Forms that somebody else sends from another network do not use up the emails of the address's owner.
  if ((sent?.own ?? 0) >= formEmailsPerHour || (sent?.all ?? 0) >= maxFormEmailsPerHour) {
    await tx.unconfirmedRequest.deleteMany({ where: { id, usedAt: null } })
    return undefined
  }
  const token = base62(randomBytes(32), 43)
  const { count } = await tx.unconfirmedRequest.updateMany({
    where: { id, usedAt: null, expiresAt: { gt: now } },
    data: { hash: hashOf(token), emailedAt: now },
  })
  if (count === 0 || !given.content) return undefined
  const { email, locale, kind } = openForm(deps.form.key(), id, given.content)
  return { email, locale, kind, sentAt: given.createdAt, link: `${deps.origin}/request/confirm#${token}` }
}

/**
 * Builds the email with the link that confirms the address of a request from the form. It names the kind and the time, so that people
 * recognise their own request among others, and repeats no text that was entered.
 */
export const confirmFormEmail = (
  locale: RequestLocale,
  { origin, link, kind, sentAt }: { origin: string; link: string; kind: RequestKind; sentAt: Date },
): EmailContent =>
  locale === 'zh'
    ? emailContent(locale, '请确认您的隐私请求', [
        `有人在 ${new URL(origin).host} 用这个邮箱地址提交了一项隐私请求：${chineseKindNames[kind]}，提交于 ${emailTime(sentAt)}。仅当这是您本人提交的请求时，请打开下面的页面并点击按钮确认。链接只能使用一次，24 小时内有效。`,
        link,
        '如果与您无关，请忽略此邮件。未经确认的请求会在 24 小时后删除。',
      ])
    : emailContent(locale, 'Confirm your privacy request', [
        `Somebody sent a privacy request with this email address at ${new URL(origin).host}: ${englishKindNames[kind]}, sent at ${emailTime(sentAt)}. If this is your request, open this page and press the button. The link works once, within 24 hours.`,
        link,
        'If it was not you, ignore this email. An unconfirmed request is deleted after 24 hours.',
      ])

/** Builds the email with the links to the status pages of the open requests of an address. */
const statusLinksEmail = (locale: RequestLocale, links: readonly string[]): EmailContent =>
  locale === 'zh'
    ? emailContent(locale, '您的隐私请求的状态', [
        '您索取了隐私请求状态页的链接。持有链接的人都能看到请求的状态，请不要转发。',
        ...links,
        '如果与您无关，请忽略此邮件。',
      ])
    : emailContent(locale, 'Status of your privacy requests', [
        'You asked for the links to the status pages of your privacy requests. Anyone with a link can see the status, so do not forward this email.',
        ...links,
        'If it was not you, ignore this email.',
      ])

const sendConfirmation = (deps: PrivacyDeps, mail: MailPort) =>
  job({
    name: confirmFormJob,
    payload: z.strictObject({ id: z.string() }),
    async run(ctx, { id }) {
      const ready = await ctx.pipeline.transaction((tx) => linkToConfirm(deps, tx, id, ctx.now))
      if (ready)
        await mail.send({
          to: ready.email,
          ...confirmFormEmail(ready.locale, {
            origin: deps.origin,
            link: ready.link,
            kind: ready.kind,
            sentAt: ready.sentAt,
          }),
        })
    },
  })

/** Creates the links to the status pages of the open requests of an address. */
async function linksOf(deps: PrivacyDeps, tx: Transaction, address: string, now: Date) {
  await lockSubject(tx, { subjectKey: address })
  const rows = await tx.privacyRequest.findMany({
    where: { addressKey: address, channel: 'form', closedAt: null, contact: { not: null } },
    include: withParts,
    orderBy: [{ receivedAt: 'desc' }, { id: 'desc' }],
    take: 20,
  })
  const sent = await tx.privacyRequestEvent.count({
    where: { event: 'status_link', at: { gt: hourBefore(now) }, request: { addressKey: address } },
  })
  const [latest] = rows
  if (!latest?.contact || sent >= formEmailsPerHour) return undefined
  const work = systemWork(tx, now, statusLinksJob)
  await note(work, latest, { event: 'status_link', details: { requests: rows.length }, isSilent: true })
  await settle(deps, work)
  const links: string[] = []
  for (const row of rows) links.push(statusPageOf(deps, await makeRequestLink(tx, row, 'status', now)))
  return { ...openContact(deps.contactKey(), latest.id, latest.contact), links }
}

const resendLinks = (deps: PrivacyDeps, mail: MailPort) =>
  job({
    name: statusLinksJob,
    payload: z.strictObject({ address: z.string() }),
    async run(ctx, { address }) {
      const ready = await ctx.pipeline.transaction((tx) => linksOf(deps, tx, address, ctx.now))
      if (ready) await mail.send({ to: ready.email, ...statusLinksEmail(ready.locale, ready.links) })
    },
  })

/** Jobs that send the emails of the form. */
export const formJobs = (deps: PrivacyDeps, mail: MailPort) => [sendConfirmation(deps, mail), resendLinks(deps, mail)]

export const sealedContacts: SealedColumn = {
  table: 'privacy_requests',
  id: 'id',
  column: 'contact',
  purpose: sealedPurposes.privacyContacts,
}

export const sealedForms: SealedColumn = {
  table: 'unconfirmed_requests',
  id: 'id',
  column: 'content',
  purpose: sealedPurposes.privacyForms,
}

/** Recomputes the hashes of addresses from the sealed addresses, which must be sealed with the new keys already. */
export async function rehashAddresses(
  client: ClientBase,
  keys: { subject: Uint8Array; contacts: Uint8Array; forms: Uint8Array },
): Promise<void> {
  const hash = (email: string) => formHash(keys.subject, 'address', email)
  const requests = (await addressedRequests(client, {})).flatMap(({ id, contact }) =>
    unsealed(keys.contacts, contact, id) ? [{ id, address: hash(openContact(keys.contacts, id, contact).email) }] : [],
  )
  await storeAddressKeys(client, {
    ids: requests.map(({ id }) => id),
    addresses: requests.map(({ address }) => address),
    subjects: requests.map(({ address }) => requestSubjectHash(keys.subject, 'requester', address)),
  })
  const forms = (await sealedFormContents(client, {})).flatMap(({ id, content }) =>
    unsealed(keys.forms, content, id) ? [{ id, address: hash(openForm(keys.forms, id, content).email) }] : [],
  )
  await storeFormKeys(client, { ids: forms.map(({ id }) => id), addresses: forms.map(({ address }) => address) })
}

/**
 * Privacy requests are found by their subject's hash. It is recomputed under a new key if the subject is still known; otherwise the old
 * hash remains and no longer matches.
 */
export async function rehashSubjects(client: ClientBase, key: Uint8Array): Promise<void> {
  const rows = await knownSubjects(client, {})
  await storeSubjectKeys(client, {
    ids: rows.map(({ id }) => id),
    keys: rows.map(({ kind, subject }) => requestSubjectHash(key, kind, subject)),
  })
}
