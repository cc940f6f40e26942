import type { Changes, RequestContact } from '#lib/domains/privacy-requests/ports.ts'
import { GraceName, kindsOf, payloadOf, type RequestRow } from '#lib/domains/privacy-requests/requests.ts'
import {
  type Channel,
  type Grace,
  graceEnd,
  legalDueAt,
  longerGrace,
  type RequestKind,
} from '#lib/domains/privacy-requests/rules.ts'
import { change, type RequestWork } from '#lib/domains/privacy-requests/timeline.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** requester: the keyed hash of the confirmed email address of a request from the form. */
export type About = { account: string } | { agent: string } | { participant: string } | { requester: string }
export interface Filing {
  about: About
  kinds: readonly RequestKind[]
  channel: Channel
  filedBy: string
  receivedAt: Date
  grace?: Grace | undefined
  /** For an erasure: also removes the name from texts of others in graphs. */
  redacts?: boolean | undefined
  statement?: string | undefined
  changes?: Changes | undefined
  /** For a requester: the confirmed address. For a participant: the reported address. Otherwise the address on file is used. */
  contact?: RequestContact
  /** Whether this call proves the caller's identity. */
  isProven: boolean
  /** Whether the caller's scopes allow all of these kinds. If omitted, they allow everything. */
  reaches?: (kinds: readonly RequestKind[]) => boolean
}
/** Adds a statement or changes to an open request, and keeps the earlier ones. */
export async function addStatement(work: RequestWork, row: RequestRow, filing: Filing): Promise<RequestRow> {
  const { statement, changes, isProven } = filing
  if (statement === undefined && !changes) return row
  if (!isOnSide(row, filing))
    throw new Problem(
      'conflict',
      'The agent filed the open request and could read this statement. File the request without a statement. Nothing was changed.',
    )
  if (row.state !== 'received' && !isProven)
    throw new Problem(
      'conflict',
      'The open request is already confirmed. Only its subject can add to it, with their password.',
    )
  const before = payloadOf(row)
  if ((before.statements?.length ?? 0) >= 20)
    throw new Problem('conflict', 'The open request already has 20 statements. Wait until it is decided.')
  const after = {
    statements: [...(before.statements ?? []), ...(statement === undefined ? [] : [statement])],
    changes: { ...before.changes, ...changes },
  }
  // A link proves only the address to which it was sent, so it must not confirm the new one.
  if (changes?.email !== undefined)
    await work.tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose: 'address' } })
  return change(work, row, { event: 'added_to', data: { payload: after }, isSilent: true })
}

/**
 * Returns true when request and filing belong to the same side. A token acts for its agent, never for the owner: it
 * joins only requests that the agent filed, and only it joins these.
 */
const isOnSide = (row: RequestRow, { channel, filedBy }: Filing): boolean =>
  channel === 'api' ? row.channel === 'api' && row.filedBy === filedBy : row.channel !== 'api'

/**
 * Returns true when the filing may join the request. A proof of identity must not confirm kinds that somebody else
 * added: with a proof, an unconfirmed request is joined only when all its kinds are requested.
 */
export const mayJoin = (row: RequestRow, filing: Filing): boolean =>
  isOnSide(row, filing) &&
  (filing.reaches?.(kindsOf(row)) ?? true) &&
  !(filing.isProven && row.state === 'received' && kindsOf(row).some((kind) => !filing.kinds.includes(kind)))

export const isOpenIn = (row: RequestRow, kind: RequestKind): boolean =>
  row.parts.some((part) => part.kind === kind && ['pending', 'running', 'partly_done', 'failed'].includes(part.state))

/**
 * Moves kinds of an unconfirmed request to the request of a caller who proved identity. A request without remaining
 * kinds is closed.
 */
async function takeOut(work: RequestWork, row: RequestRow, taken: readonly RequestKind[], into: string): Promise<void> {
  const left = kindsOf(row).filter((kind) => !taken.includes(kind))
  const details = { kinds: taken.join(','), request_id: into }
  const noErasure = taken.includes('erasure') ? { grace: null, receiptId: null, redacts: false } : {}
  if (left.length > 0) {
    await work.tx.privacyRequestPart.deleteMany({ where: { requestId: row.id, kind: { in: [...taken] } } })
    await change(work, row, { event: 'taken_over', data: { kinds: left, ...noErasure }, details, isSilent: true })
    return
  }
  await work.tx.privacyRequestPart.updateMany({
    where: { requestId: row.id },
    data: { state: 'cancelled', finishedAt: work.now },
  })
  // The emails about the new request report the rest.
  await change(work, row, {
    event: 'cancelled',
    to: 'cancelled',
    data: { contact: null, ...noErasure },
    details,
    isSilent: true,
    by: 'system',
  })
}

/**
 * Moves newly requested kinds out of requests that the filing does not join. Returns the time from which the legal
 * month counts.
 */
export async function takeOver(
  work: RequestWork,
  met: readonly RequestRow[],
  filing: Filing,
  fresh: readonly RequestKind[],
  into: string,
): Promise<Date> {
  let { receivedAt } = filing
  for (const row of met) {
    const taken = fresh.filter((kind) => isOpenIn(row, kind) && (kind === 'erasure' || isOnSide(row, filing)))
    if (row.state !== 'received' && taken.includes('erasure'))
      throw new Problem(
        'conflict',
        'Another requester has already requested the erasure of this agent, and only they can follow or cancel it. Nothing was changed.',
      )
    if (taken.length === 0 || row.state !== 'received' || !filing.isProven) continue
    await takeOut(work, row, taken, into)
    // Counts from the first request. Not for an erasure, because that could cut the grace period chosen now.
    if (!fresh.includes('erasure') && row.receivedAt < receivedAt) receivedAt = row.receivedAt
  }
  return receivedAt
}

/**
 * Sets the grace period of an unconfirmed erasure: the one chosen by the caller with a proof of identity, otherwise the
 * longer of the two. If the legal deadline would cut it, the deadline counts from this call.
 * Redaction of others' texts: as chosen with a proof, otherwise only if both callers asked for it.
 */
export async function settleGrace(
  work: RequestWork,
  row: RequestRow,
  { grace, redacts: wanted = false, isProven }: Filing,
): Promise<RequestRow> {
  if (row.state !== 'received' || !kindsOf(row).includes('erasure')) return row
  const before = GraceName.parse(row.grace ?? '24h')
  const asked = grace ?? '24h'
  const next = isProven ? asked : longerGrace(before, asked)
  const isCut = isProven && graceEnd(next, row.legalDueAt, work.now).isShortened
  const redacts = isProven ? wanted : wanted && row.redacts
  if (next === before && redacts === row.redacts && !isCut) return row
  return change(work, row, {
    event: 'added_to',
    data: {
      grace: next,
      redacts,
      ...(isCut && { legalDueAt: legalDueAt(work.now), nearlyToldAt: null, overdueToldAt: null }),
    },
    details: { grace: next, redact: redacts },
    isSilent: true,
  })
}
