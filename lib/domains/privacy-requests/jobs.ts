import { z } from 'zod'
import type { Context } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import { beginErasure, retryCopies, setPart } from './execution/execution.ts'
import { deleteAddressKeys, deleteAnswers } from './form/repository.ts'
import type { PrivacyDeps } from './ports.ts'
import { type ClockWork, lockRequestsDue, requestsDue } from './repository.ts'
import { change, KindName, type RequestRow, type RequestWork, settle, systemWork, withParts } from './requests.ts'
import { addMonths, contactRetention, nearlyDueAt, nextDue, statusPageRetention } from './rules.ts'

const clockJob = 'privacy.clock'
/** Number of requests per transaction. */
const batch = 25

interface Sweep {
  work: ClockWork
  act(work: RequestWork, row: RequestRow): Promise<unknown>
}

/** Processes a batch of the requests after the given id, or `only` one request, in one transaction. Returns their ids. */
const sweepBatch = (
  deps: PrivacyDeps,
  ctx: Context,
  { work: needed, act }: Sweep,
  { after, only = null }: { after: string; only?: string | null },
): Promise<string[]> =>
  ctx.pipeline.transaction(async (tx) => {
    const records = await lockRequestsDue(tx, { now: ctx.now, after, only, limit: batch }, needed)
    const ids = records.map(({ id }) => id)
    const rows = await tx.privacyRequest.findMany({
      where: { id: { in: ids } },
      include: withParts,
      orderBy: { id: 'asc' },
    })
    const work = systemWork(tx, ctx.now, clockJob)
    for (const row of rows) await act(work, row)
    await settle(deps, work)
    return ids
  })

/** Processes a batch in one transaction per request. Returns the ids and the number of failures. */
async function sweepOneByOne(
  deps: PrivacyDeps,
  ctx: Context,
  sweep: Sweep,
  after: string,
): Promise<{ ids: string[]; faults: number }> {
  const records = await requestsDue(deps.db, { now: ctx.now, after, limit: batch }, sweep.work)
  const ids = records.map(({ id }) => id)
  let faults = 0
  for (const id of ids)
    await sweepBatch(deps, ctx, sweep, { after: '', only: id }).catch((error: unknown) => {
      faults += 1
      logFault(error, { job: clockJob, requestId: id })
    })
  return { ids, faults }
}

/**
 * Processes all requests that need the work. A failing request is logged and retried a minute
 * later; it does not block the others.
 */
async function sweepAll(deps: PrivacyDeps, ctx: Context, sweep: Sweep): Promise<void> {
  for (let after = ''; ; ) {
    let ids: string[]
    try {
      ids = await sweepBatch(deps, ctx, sweep, { after })
    } catch (error) {
      // Processes the batch one by one to find the failing request. The returned ids include requests that no longer match.
      const alone = await sweepOneByOne(deps, ctx, sweep, after)
      if (alone.faults === 0) logFault(error, { job: clockJob })
      ids = alone.ids
    }
    const last = ids.at(-1)
    if (last === undefined) return
    after = last
  }
}

async function expire(work: RequestWork, given: RequestRow): Promise<void> {
  let row = given
  for (const { kind } of given.parts) row = await setPart(work, row, KindName.parse(kind), 'cancelled')
  await change(work, row, { event: 'expired', to: 'cancelled' })
}

/** Returns the action that flags a request as overdue or nearly due. The daily email tells the admins. */
const flag =
  (event: 'overdue' | 'nearly_due', since: (row: RequestRow) => Date) =>
  (work: RequestWork, row: RequestRow): Promise<unknown> =>
    change(work, row, {
      event,
      data: { nearlyToldAt: row.nearlyToldAt ?? work.now, ...(event === 'overdue' && { overdueToldAt: work.now }) },
      details: { since: since(row).toISOString(), due: nextDue(row).toISOString() },
      isInternal: true,
    })

const sweeps = (deps: PrivacyDeps): Sweep[] => [
  { work: 'erasure', act: (work, row) => beginErasure(deps, work, row) },
  { work: 'copies', act: (work, row) => retryCopies(deps, work, row) },
  { work: 'reminder', act: (work, row) => change(work, row, { event: 'reminded', data: { remindedAt: work.now } }) },
  { work: 'expiry', act: expire },
  { work: 'overdue', act: flag('overdue', nextDue) },
  { work: 'nearlyDue', act: flag('nearly_due', nearlyDueAt) },
]

/** Deletes expired links, addresses of closed requests, unconfirmed requests, and requests whose retention period is over. */
async function deleteExpired(
  { db, requestsYears }: Pick<PrivacyDeps, 'db' | 'requestsYears'>,
  now: Date,
): Promise<void> {
  await db.prisma.privacyLink.deleteMany({
    where: { expiresAt: { lt: new Date(now.getTime() - 86_400_000) } },
  })
  await db.prisma.privacyRequest.updateMany({
    where: { closedAt: { lt: new Date(now.getTime() - contactRetention) }, contact: { not: null } },
    data: { contact: null },
  })
  await db.prisma.unconfirmedRequest.deleteMany({ where: { expiresAt: { lte: now } } })
  const before = new Date(now.getTime() - statusPageRetention)
  await deleteAnswers(db, { before })
  await deleteAddressKeys(db, { before })
  // Deleted with all dependent rows.
  const retainedSince = addMonths(now, -12 * requestsYears)
  await db.prisma.privacyRequest.deleteMany({ where: { closedAt: { lte: retainedSince } } })
}

/**
 * The job of every minute: starts due work, reminds, flags requests without time left, and deletes expired data. Each
 * batch is a transaction that skips rows locked by other workers, so any number of workers can share the work.
 */
export const clockJobs = (deps: PrivacyDeps) => [
  job({
    name: clockJob,
    payload: z.unknown(),
    cron: '* * * * *',
    async run(ctx) {
      for (const sweep of sweeps(deps)) await sweepAll(deps, ctx, sweep)
      await deleteExpired(deps, ctx.now)
    },
  }),
]
