import { enqueue } from '#lib/jobs/queue.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { beginErasure } from './erasure-start.ts'
import { boundLinkLetters } from './links.ts'
import { conclude, setPart } from './parts.ts'
import type { PrivacyParts } from './ports.ts'
import { GraceName, kindsOf, partOf, payloadOf, type RequestRow, subjectOf } from './requests.ts'
import { dueAfter, graceEnd, type Kind } from './rules.ts'
import { addressJob, change, note, type Work } from './timeline.ts'

/** What each kind does first. Erasure has its own beginning. */
async function startPart(parts: PrivacyParts, work: Work, row: RequestRow, kind: Kind): Promise<RequestRow> {
  const { tx, now } = work
  const subject = () => subjectOf(tx, row, parts.agents)
  switch (kind) {
    case 'access':
    case 'portability': {
      const basis = kind === 'access' ? 'all' : 'provided'
      if (row.accountId === null)
        return setPart(work, row, kind, 'done', { export: `/v1/export/${row.agentId}?scope=${basis}` })
      const copy = { accountId: row.accountId, requestId: row.id, basis, now } as const
      return setPart(work, row, kind, 'running', { export_id: await parts.copies.prepare(tx, copy) })
    }
    case 'rectification':
      return rectify(parts, work, row)
    case 'restriction':
      await parts.agents.restrict(tx, await subject(), 'request', now)
      return setPart(work, row, kind, 'done')
    case 'objection':
      // GDPR art. 18(1)(d): restricted while it is weighed.
      await parts.agents.restrict(tx, await subject(), 'objection', now)
      return setPart(work, row, kind, 'running', { waits_for: 'admin' })
    case 'erasure':
      return row
  }
}

/** Name and language are corrected at once, a new address once its own mailbox confirms it, what is told in words by an admin. */
export async function rectify(parts: PrivacyParts, work: Work, row: RequestRow): Promise<RequestRow> {
  const { changes, statements = [] } = payloadOf(row)
  const { email, ...rest } = changes ?? {}
  if (row.accountId !== null && (rest.name !== undefined || rest.locale !== undefined)) {
    const fields = await parts.people.rectify(work.tx, row.accountId, rest, work.now)
    await note(work, row, { event: 'rectified', details: { fields: fields.join(',') }, by: 'system' })
  }
  if (email !== undefined && row.accountId !== null) {
    await boundLinkLetters(work.tx, row.subjectKey, work.now)
    // Of what was asked before, no link counts any more.
    await work.tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose: 'address' } })
    await note(work, row, { event: 'address_asked', by: 'system' })
    await enqueue(work.tx, addressJob, { requestId: row.id }, { maxAttempts: 12 })
    return setPart(work, row, 'rectification', 'running', {
      waits_for: 'address',
      has_words: statements.length > 0,
    })
  }
  return statements.length > 0
    ? setPart(work, row, 'rectification', 'running', { waits_for: 'admin' })
    : setPart(work, row, 'rectification', 'done', { waits_for: null })
}

/** The new address is confirmed. Throws `conflict` where it is another account's by now. */
export async function confirmAddress(parts: PrivacyParts, work: Work, row: RequestRow): Promise<RequestRow> {
  const { email } = payloadOf(row).changes ?? {}
  const part = partOf(row, 'rectification')
  if (email === undefined || row.accountId === null || !part) return row
  await parts.people.rectify(work.tx, row.accountId, { email }, work.now)
  const { changes, ...rest } = payloadOf(row)
  const payload = { ...rest, changes: { ...changes, email: undefined } }
  await change(work, row, { event: 'rectified', data: { payload }, details: { fields: 'email' } })
  const waitsForAdmin = (part.outcome as Prisma.JsonObject).has_words === true
  return conclude(
    work,
    await setPart(work, row, 'rectification', waitsForAdmin ? 'running' : 'done', {
      waits_for: waitsForAdmin ? 'admin' : null,
    }),
  )
}

/** After identity was shown: the grace of an erasure begins; everything else is carried out. */
export async function carryOut(parts: PrivacyParts, work: Work, verified: RequestRow): Promise<RequestRow> {
  const { tx, now } = work
  let row = verified
  if (kindsOf(row).includes('erasure')) {
    const { at, isShortened } = graceEnd(GraceName.parse(row.grace ?? '24h'), row.legalDueAt, now)
    const data = { waitingUntil: at, dueAt: dueAfter(at, row.legalDueAt) }
    row = await change(work, row, {
      event: 'waiting',
      to: 'waiting',
      data,
      details: { until: at.toISOString(), shortened: isShortened },
      by: 'system',
    })
    await parts.agents.suspend(tx, await subjectOf(tx, row, parts.agents), now)
  } else {
    const data = { startedAt: now, dueAt: dueAfter(now, row.legalDueAt) }
    row = await change(work, row, { event: 'running', to: 'running', data, by: 'system' })
  }
  for (const kind of kindsOf(row)) row = await startPart(parts, work, row, kind)
  return kindsOf(row).includes('erasure') ? beginErasure(parts, work, row) : conclude(work, row)
}

/** The parts that failed begin anew. */
export async function restartParts(parts: PrivacyParts, work: Work, given: RequestRow): Promise<RequestRow> {
  let row = given
  for (const kind of kindsOf(row))
    if (kind !== 'erasure' && partOf(row, kind)?.state === 'failed') row = await startPart(parts, work, row, kind)
  return row
}
