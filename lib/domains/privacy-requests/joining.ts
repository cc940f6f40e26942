import { Problem } from '#lib/kernel/problem.ts'
import type { Changes } from './ports.ts'
import { GraceName, kindsOf, payloadOf, type RequestRow } from './requests.ts'
import { type Channel, type Grace, graceEnd, type Kind, legalDueAt, longerGrace } from './rules.ts'
import { change, type Work } from './timeline.ts'

export type About = { account: string } | { agent: string } | { participant: string }
export interface Filing {
  about: About
  kinds: readonly Kind[]
  channel: Channel
  filedBy: string
  receivedAt: Date
  grace?: Grace | undefined
  /** Of an erasure: the name goes from what others wrote in graphs, too. */
  redacts?: boolean | undefined
  statement?: string | undefined
  changes?: Changes | undefined
  /** Identity is shown with this very call. */
  isProven: boolean
  /** Whether the caller's scopes reach all of these; everything does where nothing is said. */
  reaches?: (kinds: readonly Kind[]) => boolean
}
/** More is said about what is open already: it is kept beside what was said. */
export async function addWords(work: Work, row: RequestRow, filing: Filing): Promise<RequestRow> {
  const { statement, changes, isProven } = filing
  if (statement === undefined && !changes) return row
  if (!isOnSide(row, filing))
    throw new Problem(
      'conflict',
      'What is open was asked for by the agent itself, who would read these words. Ask without them. Nothing was changed.',
    )
  if (row.state !== 'received' && !isProven)
    throw new Problem(
      'conflict',
      'The open request is confirmed already: its subject alone adds to it, with their password.',
    )
  const before = payloadOf(row)
  if ((before.statements?.length ?? 0) >= 20)
    throw new Problem('conflict', 'The open request has twenty statements already. Wait until it is decided.')
  const after = {
    statements: [...(before.statements ?? []), ...(statement === undefined ? [] : [statement])],
    changes: { ...before.changes, ...changes },
  }
  return change(work, row, { event: 'added_to', data: { payload: after }, isSilent: true })
}

/** A token acts for its agent, and never for the agent's owner: it joins what its agent asked for, and nobody else does. */
const isOnSide = (row: RequestRow, { channel, filedBy }: Filing): boolean =>
  channel === 'api' ? row.channel === 'api' && row.filedBy === filedBy : row.channel !== 'api'

/**
 * Showing who one is confirms what one asked for, and nothing that somebody else put beside it: what nobody confirmed yet is joined
 * with a proof only where all of it is asked for.
 */
export const mayJoin = (row: RequestRow, filing: Filing): boolean =>
  isOnSide(row, filing) &&
  (filing.reaches?.(kindsOf(row)) ?? true) &&
  !(filing.isProven && row.state === 'received' && kindsOf(row).some((kind) => !filing.kinds.includes(kind)))

export const isOpenIn = (row: RequestRow, kind: Kind): boolean =>
  row.parts.some((part) => part.kind === kind && ['pending', 'running', 'partly_done', 'failed'].includes(part.state))

/** What was asked for by somebody who did not show who they are goes over to whoever did; a request with nothing left is closed. */
async function takeOut(work: Work, row: RequestRow, taken: readonly Kind[], into: string): Promise<void> {
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
  // The letters of the request that takes its place tell the rest.
  await change(work, row, {
    event: 'cancelled',
    to: 'cancelled',
    data: { contact: null, ...noErasure },
    details,
    isSilent: true,
    by: 'system',
  })
}

/** Takes what is asked for anew out of the requests that it does not join. Gives the time from which the law's month counts. */
export async function takeOver(
  work: Work,
  met: readonly RequestRow[],
  filing: Filing,
  fresh: readonly Kind[],
  into: string,
): Promise<Date> {
  let { receivedAt } = filing
  for (const row of met) {
    const taken = fresh.filter((kind) => isOpenIn(row, kind) && (kind === 'erasure' || isOnSide(row, filing)))
    if (row.state !== 'received' && taken.includes('erasure'))
      throw new Problem(
        'conflict',
        'The erasure of this agent is asked for already, and not by the agent itself: whoever asked follows it, or takes it back. Nothing was changed.',
      )
    if (taken.length === 0 || row.state !== 'received' || !filing.isProven) continue
    await takeOut(work, row, taken, into)
    // From when it was asked first; of an erasure that would cut the grace that is chosen now.
    if (!fresh.includes('erasure') && row.receivedAt < receivedAt) receivedAt = row.receivedAt
  }
  return receivedAt
}

/**
 * The grace of an erasure that nobody confirmed yet is that of whoever shows who they are; of two who did not, the longer one. Where the
 * law's limit would cut it, it counts from this call, which asks anew. So are others' words: changed where both want it.
 */
export async function settleGrace(
  work: Work,
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
