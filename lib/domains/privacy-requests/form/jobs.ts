import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { openContact } from '#lib/domains/privacy-requests/filing/contact.ts'
import { makeRequestLink } from '#lib/domains/privacy-requests/filing/links.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { lockSubject } from '#lib/domains/privacy-requests/repository.ts'
import { withParts } from '#lib/domains/privacy-requests/requests.ts'
import { note, settle, systemWork } from '#lib/domains/privacy-requests/timeline.ts'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { base62 } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import { openForm } from './content.ts'
import { confirmFormEmail, statusLinksEmail } from './emails.ts'
import { countEmailsToAddress } from './repository.ts'
import { formEmailsPerHour, mostFormEmailsPerHour } from './rules.ts'
import { confirmFormJob, statusLinksJob } from './sending.ts'
import { statusPageOf } from './status-page.ts'

const hourBefore = (now: Date): Date => new Date(now.getTime() - 3_600_000)

/** Creates the link; deletes the request instead when its address received too many emails. */
async function linkToConfirm(deps: PrivacyDeps, tx: Transaction, id: string, now: Date) {
  const given = await tx.unconfirmedRequest.findUnique({ where: { id } })
  if (!given) return undefined
  await lockSubject(tx, { subjectKey: given.addressKey })
  const [sent] = await countEmailsToAddress(tx, {
    ...{ id, address: given.addressKey, network: given.networkKey },
    since: hourBefore(now),
  })
  // Forms that somebody else sends from another network do not use up the emails of the address's owner.
  if ((sent?.own ?? 0) >= formEmailsPerHour || (sent?.all ?? 0) >= mostFormEmailsPerHour) {
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
            ...{ origin: deps.origin, link: ready.link, kind: ready.kind, sentAt: ready.sentAt },
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
