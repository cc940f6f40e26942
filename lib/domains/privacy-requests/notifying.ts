import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { openContact } from './contact.ts'
import { Facts } from './contract.ts'
import type { LetterFacts } from './letter-facts.ts'
import { addressLetter, dueLetter, requestLetter } from './letters.ts'
import { type LinkPurpose, makeLink } from './links.ts'
import type { Contact, PrivacyParts } from './ports.ts'
import { kindsOf, lockedRequest, payloadOf, StateName, waitsForAddress } from './requests.ts'
import { isClosed } from './rules.ts'
import { addressJob, notifyJob, tellAdminJob } from './timeline.ts'

interface Prepared {
  contact: Contact
  facts: LetterFacts
  events: Prisma.PrivacyRequestEventGetPayload<object>[]
  isLast: boolean
}

/**
 * Letters go by jobs that know ids alone: words, links and addresses come together when the letter is handed over. A link is made for
 * its letter, so that its minutes count from then.
 */
export function notifying(parts: PrivacyParts, mail: MailPort) {
  const { db, origin } = parts
  const pageOf = (purpose: LinkPurpose, token: string) => `${origin}/privacy/confirm#${purpose}.${token}`

  async function prepare(
    tx: Transaction,
    requestId: string,
    eventIds: string[],
    now: Date,
  ): Promise<Prepared | undefined> {
    const row = await lockedRequest(tx, requestId)
    // Nobody is left to tell, or nobody ever was.
    if (!row || row.contact === null) return undefined
    const events = await tx.privacyRequestEvent.findMany({
      where: { requestId, id: { in: eventIds } },
      orderBy: [{ at: 'asc' }, { id: 'asc' }],
    })
    const has = (event: string) => events.some((one) => one.event === event)
    const link = async (purpose: LinkPurpose) => pageOf(purpose, await makeLink(tx, row, purpose, now))
    const isWaiting = row.state === 'waiting' && (has('waiting') || has('reminded'))
    return {
      contact: openContact(parts.contactKey(), row.id, row.contact),
      events,
      isLast: isClosed(StateName.parse(row.state)) && events.some(({ to }) => to !== null && isClosed(to)),
      facts: {
        id: row.id,
        kinds: kindsOf(row),
        isAgent: row.subjectKind === 'agent',
        legalDueAt: row.legalDueAt,
        waitingUntil: row.waitingUntil,
        receipt: row.receiptId === null ? undefined : `${origin}/receipts/${row.receiptId}`,
        page: row.accountId === null && row.agentId === null ? undefined : `${origin}/api/privacy/requests/${row.id}`,
        tokensStop: parts.graceTokens === 'stop',
        signInStays: parts.graceSignIn === 'keep',
        links: {
          ...(row.state === 'received' && has('link_sent') && { verify: await link('verify') }),
          ...(isWaiting && { cancel: await link('cancel') }),
        },
      },
    }
  }

  return [
    job({
      name: notifyJob,
      payload: z.strictObject({ requestId: z.string(), events: z.string() }),
      async run(ctx, { requestId, events }) {
        const ready = await ctx.gate.transaction((tx) => prepare(tx, requestId, events.split(','), ctx.now))
        if (!ready) return
        const { contact } = ready
        const content = requestLetter(
          contact.locale,
          ready.events.map((event) => ({ ...event, details: Facts.parse(event.details) })),
          ready.facts,
        )
        if (content) await mail.send({ to: contact.email, ...content })
        // The last letter has gone: so goes the address.
        if (ready.isLast)
          await db.prisma.privacyRequest.updateMany({ where: { id: requestId }, data: { contact: null } })
      },
    }),
    job({
      name: addressJob,
      payload: z.strictObject({ requestId: z.string() }),
      async run(ctx, { requestId }) {
        const ready = await ctx.gate.transaction(async (tx) => {
          const row = await lockedRequest(tx, requestId)
          const email = row && waitsForAddress(row) ? payloadOf(row).changes?.email : undefined
          if (!row?.contact || email === undefined) return undefined
          const { locale } = openContact(parts.contactKey(), row.id, row.contact)
          return { email, locale, link: pageOf('address', await makeLink(tx, row, 'address', ctx.now)) }
        })
        if (ready) await mail.send({ to: ready.email, ...addressLetter(ready.locale, ready.link) })
      },
    }),
    job({
      name: tellAdminJob,
      payload: z.strictObject({ accountId: z.string() }),
      async run(ctx, { accountId }) {
        const contact = await ctx.gate.transaction((tx) => parts.people.contactOf(tx, accountId))
        const counts = await standingCounts(db, ctx.now)
        const page = `${origin}/api/admin/privacy/requests?open=true&due=${counts.overdue > 0 ? 'overdue' : 'near'}`
        if (contact) await mail.send({ to: contact.email, ...dueLetter(contact.locale, { ...counts, page }) })
      },
    }),
  ]
}

/** How many open requests are nearly due, overdue, and failed. */
async function standingCounts(db: Database, now: Date): Promise<{ near: number; overdue: number; failed: number }> {
  const [row] = await db.query<{ near: number; overdue: number; failed: number }>(
    'privacy-standing',
    `SELECT count(*) FILTER (WHERE near < $1 AND due >= $1)::int AS near, count(*) FILTER (WHERE due < $1)::int AS overdue,
       count(*) FILTER (WHERE state = 'failed')::int AS failed
     FROM (SELECT state, least(legal_due_at, due_at) AS due,
         least(legal_due_at - (legal_due_at - received_at) / 4, due_at - interval '18 hours') AS near
       FROM privacy_requests WHERE closed_at IS NULL AND paused_at IS NULL AND state <> 'partly_completed') AS open`,
    [now],
  )
  return row ?? { near: 0, overdue: 0, failed: 0 }
}
