import { z } from 'zod'
import { notifyAdmins } from '#lib/domains/privacy-requests/emails/admin-notice.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { KindName, type RequestRow, withParts } from '#lib/domains/privacy-requests/requests.ts'
import { addMonths, contactRetention, nearlyDueAt, nextDue } from '#lib/domains/privacy-requests/rules.ts'
import { change, type RequestWork, settle, systemWork } from '#lib/domains/privacy-requests/timeline.ts'
import type { Context } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import { beginErasure } from './erasure-start.ts'
import { retryCopies } from './execution.ts'
import { type ClockWork, lockRequestsDue, requestsDue } from './repository.ts'
import { setPart } from './request-parts.ts'

const clockJob = 'privacy.clock'
/** Number of requests per transaction. */
const batch = 25

interface Sweep {
  work: ClockWork
  act(work: RequestWork, row: RequestRow): Promise<unknown>
}

/**
 * The job of every minute: starts due work, reminds, flags requests without time left, and deletes expired data. Each
 * batch is a transaction that skips rows locked by other workers, so any number of workers can share the work.
 */
export function clockJobs(deps: PrivacyDeps) {
  const { db } = deps

  /** Processes a batch of the requests after the given id, or `only` one request, in one transaction. Returns their ids. */
  const some = (
    ctx: Context,
    { work: needed, act }: Sweep,
    after: string,
    only: string | null = null,
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

  /**
   * Processes all requests that need the work. A failing request is logged and retried a minute
   * later; it does not block the others.
   */
  async function sweep(ctx: Context, what: Sweep): Promise<void> {
    for (let after = ''; ; ) {
      let ids: string[]
      try {
        ids = await some(ctx, what, after)
      } catch (error) {
        // Processes the batch one by one to find the failing request. The returned ids include requests that no longer match.
        const alone = await oneByOne(ctx, what, after)
        if (alone.faults === 0) logFault(error, { job: clockJob })
        ids = alone.ids
      }
      const last = ids.at(-1)
      if (last === undefined) return
      after = last
    }
  }
  async function oneByOne(ctx: Context, what: Sweep, after: string): Promise<{ ids: string[]; faults: number }> {
    const records = await requestsDue(db, { now: ctx.now, after, limit: batch }, what.work)
    const ids = records.map(({ id }) => id)
    let faults = 0
    for (const id of ids)
      await some(ctx, what, '', id).catch((error: unknown) => {
        faults += 1
        logFault(error, { job: clockJob, requestId: id })
      })
    return { ids, faults }
  }

  async function expire(work: RequestWork, given: RequestRow): Promise<void> {
    let row = given
    for (const { kind } of given.parts) row = await setPart(work, row, KindName.parse(kind), 'cancelled')
    await change(work, row, { event: 'expired', to: 'cancelled' })
  }

  const flag =
    (event: 'overdue' | 'nearly_due', since: (row: RequestRow) => Date) =>
    async (work: RequestWork, row: RequestRow) => {
      await change(work, row, {
        event,
        data: { nearlyToldAt: row.nearlyToldAt ?? work.now, ...(event === 'overdue' && { overdueToldAt: work.now }) },
        details: { since: since(row).toISOString(), due: nextDue(row).toISOString() },
        isInternal: true,
      })
      await notifyAdmins(deps, work.tx)
    }
  const rounds: Sweep[] = [
    { work: 'erasure', act: (work, row) => beginErasure(deps, work, row) },
    { work: 'copies', act: (work, row) => retryCopies(deps, work, row) },
    { work: 'reminder', act: (work, row) => change(work, row, { event: 'reminded', data: { remindedAt: work.now } }) },
    { work: 'expiry', act: expire },
    { work: 'overdue', act: flag('overdue', nextDue) },
    { work: 'nearlyDue', act: flag('nearly_due', nearlyDueAt) },
  ]

  return [
    job({
      name: clockJob,
      payload: z.unknown(),
      cron: '* * * * *',
      async run(ctx) {
        for (const round of rounds) await sweep(ctx, round)
        await db.prisma.privacyLink.deleteMany({
          where: { expiresAt: { lt: new Date(ctx.now.getTime() - 86_400_000) } },
        })
        await db.prisma.privacyRequest.updateMany({
          where: { closedAt: { lt: new Date(ctx.now.getTime() - contactRetention) }, contact: { not: null } },
          data: { contact: null },
        })
        // Deleted with all dependent rows.
        const keptSince = addMonths(ctx.now, -12 * deps.requestsYears)
        await db.prisma.privacyRequest.deleteMany({ where: { closedAt: { lte: keptSince } } })
      },
    }),
  ]
}
