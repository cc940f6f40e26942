import { z } from 'zod'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Reply } from '#lib/kernel/use-case.ts'
import { type Ledger, type LedgerPosition, type LedgerRow, ledgerStart } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** A privacy request that the ledger knows as open and that the database lacks: it was filed after the backup that was restored. */
export interface LostRequest {
  id: string
  /** The legal deadline. */
  due: string
}
type LedgerRequest = LostRequest & { isClosed: boolean }

/** Adds what the ledger states about each request after the position: its last row. */
async function requestsInLedger(
  ledger: Pick<Ledger, 'readSince'>,
  position: LedgerPosition = ledgerStart(),
  requests = new Map<string, LedgerRequest>(),
): Promise<Map<string, LedgerRequest>> {
  for await (const row of ledger.readSince(position))
    if (row.kind === 'request') requests.set(row.id, { id: row.id, due: row.due, isClosed: row.isClosed ?? false })
  return requests
}

/** The lost requests, the first deadline first. Reads the whole ledger. */
export async function lostRequests(db: Database, ledger: Pick<Ledger, 'readSince'>): Promise<LostRequest[]> {
  const open = [...(await requestsInLedger(ledger)).values()].filter(({ isClosed }) => !isClosed)
  const found = await db.prisma.privacyRequest.findMany({
    where: { id: { in: open.map(({ id }) => id) } },
    select: { id: true },
  })
  const known = new Set(found.map(({ id }) => id))
  return open
    .filter(({ id }) => !known.has(id))
    .map(({ id, due }) => ({ id, due }))
    .sort((one, other) => one.due.localeCompare(other.due))
}

/** Milliseconds between two readings of the ledger. */
const betweenReadings = 600_000
/** Returns a function that reports whether requests are lost, as of the last ten minutes. False while it cannot be known. */
export function lostRequestsWatch(db: Database, ledger: Pick<Ledger, 'readSince'>): () => Promise<boolean> {
  let last: { at: number; answer: Promise<boolean> } | undefined
  return () => {
    if (last && performance.now() - last.at < betweenReadings) return last.answer
    const answer = lostRequests(db, ledger).then(
      (lost) => lost.length > 0,
      () => {
        last = undefined
        return false
      },
    )
    last = { at: performance.now(), answer }
    return answer
  }
}

/** Records that a lost request was handled, so that it is no longer reported. @throws Problem `not_found` if it is not lost */
export async function closeLostRequest(db: Database, ledger: Ledger, id: string, now: Date): Promise<void> {
  const lost = (await lostRequests(db, ledger)).find((one) => one.id === id)
  if (!lost) throw new Problem('not_found', `No lost privacy request has the id ${id}.`)
  await ledger.append({ kind: 'request', id, at: now.toISOString(), due: lost.due, isClosed: true })
}

const rowOf = ({ id, legalDueAt }: { id: string; legalDueAt: Date }, now: Date): LedgerRow => ({
  kind: 'request',
  id,
  at: now.toISOString(),
  due: legalDueAt.toISOString(),
})

/**
 * Adds to the reply about a new request that its id and deadline are in the ledger before the response is sent, because a failover may lose
 * the newest rows of the database. If the ledger cannot be written, the request is filed nevertheless, and the job adds the row later.
 */
export function notedReply<T>(
  { ledger }: { ledger: Pick<Ledger, 'append'> },
  { row, isNew }: { row: { id: string; legalDueAt: Date }; isNew: boolean },
  reply: Reply<T>,
  now: Date,
): Reply<T> {
  if (!isNew) return reply
  const { body, status, headers } = reply
  return {
    ...reply,
    async afterCommit() {
      await ledger.append(rowOf(row, now)).catch((error: unknown) => logFault(error, { request: row.id }))
      return { body, ...(status !== undefined && { status }), ...(headers && { headers }) }
    },
  }
}

/**
 * Appends the id and the legal deadline of each open request to the ledger, each change of the deadline, and the end of the request. No
 * content. A restored database shows then which requests it lacks.
 */
export function deadlineNotes(db: Database, ledger: Pick<Ledger, 'append' | 'readSince'>) {
  let position = ledgerStart()
  const known = new Map<string, LedgerRequest>()

  async function note(now: Date): Promise<void> {
    // Also the rows of other processes: a request may be filed and closed between two runs.
    await requestsInLedger(ledger, position, known)
    const append = async (id: string, due: string, isClosed: boolean) => {
      await ledger.append({ kind: 'request', id, at: now.toISOString(), due, ...(isClosed && { isClosed }) })
      known.set(id, { id, due, isClosed })
    }
    const open = await db.prisma.privacyRequest.findMany({
      where: { closedAt: null },
      select: { id: true, legalDueAt: true },
      orderBy: { receivedAt: 'asc' },
    })
    for (const { id, legalDueAt } of open) {
      const due = legalDueAt.toISOString()
      const recorded = known.get(id)
      if (recorded?.due !== due || recorded.isClosed) await append(id, due, false)
    }
    const isOpen = new Set(open.map(({ id }) => id))
    const ended = [...known.values()].filter(({ id, isClosed }) => !isClosed && !isOpen.has(id))
    const closed = await db.prisma.privacyRequest.findMany({
      where: { id: { in: ended.map(({ id }) => id) } },
      select: { id: true },
    })
    for (const { id } of closed) await append(id, known.get(id)?.due ?? '', true)
  }

  return {
    note,
    job: job({
      name: 'privacy.note-deadlines',
      payload: z.unknown(),
      cron: '* * * * *',
      async run(ctx) {
        await note(ctx.now).catch((error: unknown) => {
          // The next run reads the ledger again. Readiness reports a ledger that is away.
          position = ledgerStart()
          known.clear()
          if (!Problem.is(error)) throw error
          logFault(error, { job: 'privacy.note-deadlines' })
        })
      },
    }),
  }
}
