import { z } from 'zod'
import { notifyAdmins } from '#lib/domains/privacy-requests/emails/admin-notice.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { nearSql, nextDueSql, owedSql } from '#lib/domains/privacy-requests/queue/due-sql.ts'
import { KindName, type RequestRow, withParts } from '#lib/domains/privacy-requests/requests.ts'
import { addMonths, contactRetention, copyTries, nearlyDueAt, nextDue } from '#lib/domains/privacy-requests/rules.ts'
import { change, type RequestWork, settle, systemWork } from '#lib/domains/privacy-requests/timeline.ts'
import type { Context } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import { beginErasure } from './erasure-start.ts'
import { retryCopies } from './execution.ts'
import { setPart } from './request-parts.ts'

const clockJob = 'privacy.clock'
/** Number of requests per transaction. */
const batch = 25

interface Sweep {
  /** A constant SQL condition; $1 is the current time. */
  sql: string
  act(work: RequestWork, row: RequestRow): Promise<unknown>
}

/**
 * The job of every minute: starts due work, reminds, flags requests without time left, and deletes expired data. Each
 * batch is a transaction that skips rows locked by other workers, so any number of workers can share the work.
 */
export function clockJobs(deps: PrivacyDeps) {
  const { db } = deps

  /** Processes a batch of the requests after the given id, or `only` one request, in one transaction. Returns their ids. */
  const some = (ctx: Context, { sql, act }: Sweep, after: string, only: string | null = null): Promise<string[]> =>
    ctx.pipeline.transaction(async (tx) => {
      const records = await tx.$queryRawUnsafe<{ id: string }[]>(
        `SELECT id FROM privacy_requests WHERE id > $2 AND id = coalesce($3, id) AND ${sql}
         ORDER BY id LIMIT ${batch} FOR NO KEY UPDATE SKIP LOCKED`,
        ctx.now,
        after,
        only,
      )
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
   * Processes all requests that match `sql` ($1 is the current time). A failing request is logged and retried a minute
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
    const records = await db.query<{ id: string }>(
      undefined,
      `SELECT id FROM privacy_requests WHERE id > $2 AND ${what.sql} ORDER BY id LIMIT ${batch}`,
      [ctx.now, after],
    )
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
    {
      sql: "state = 'waiting' AND paused_at IS NULL AND waiting_until <= $1",
      act: (work, row) => beginErasure(deps, work, row),
    },
    {
      sql: `closed_at IS NULL AND run_id IS NULL AND EXISTS (SELECT FROM privacy_request_parts p
        WHERE p.request_id = privacy_requests.id AND p.kind IN ('access', 'portability') AND p.state = 'failed'
          AND p.finished_at <= $1::timestamptz - interval '${copyTries.after} milliseconds'
          AND coalesce((p.outcome->>'tries')::int, 0) < ${copyTries.most})`,
      act: (work, row) => retryCopies(deps, work, row),
    },
    {
      sql: `state = 'waiting' AND paused_at IS NULL AND reminded_at IS NULL AND grace IN ('7d', '14d')
        AND waiting_until > $1 AND waiting_until <= $1 + interval '1 day'`,
      act: (work, row) => change(work, row, { event: 'reminded', data: { remindedAt: work.now } }),
    },
    { sql: "state = 'received' AND paused_at IS NULL AND legal_due_at <= $1", act: expire },
    {
      sql: `${owedSql} AND overdue_told_at IS NULL AND ${nextDueSql} < $1`,
      act: flag('overdue', nextDue),
    },
    {
      sql: `${owedSql} AND nearly_told_at IS NULL AND ${nearSql} < $1`,
      act: flag('nearly_due', nearlyDueAt),
    },
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
