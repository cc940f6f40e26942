import { enqueue } from '#lib/jobs/queue.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import type { Basis } from '#lib/kernel/data-source.ts'
import { newId } from '#lib/kernel/ids.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { PreparedExport } from '../../../generated/prisma/client.ts'
import type { Attempt, ExportFiles } from './export-files.ts'
import {
  deleteExport,
  downloadExport,
  type ExportView,
  listExports,
  prepareExport,
  readExport,
} from './prepared-contract.ts'
import { beginExport, exportsOfDay, requestActor } from './quota.ts'
import { utcDayOf } from './rules.ts'

export const prepareJob = 'exports.prepare'
/** The job key of an export: enqueuing it again while it waits changes nothing. */
const prepareKey = (id: string): string => `${prepareJob}:${id}`
/** Number of failed attempts after which the job and the export are given up. */
const mostAttempts = 8

/** A change of an export that answers a privacy request, reported in the transaction of the change. */
export interface ExportChange {
  requestId: string
  exportId: string
  basis: Basis
  /** fetched: the owner downloaded it completely. gone: it expired, was deleted, or contained data that was erased. */
  state: 'ready' | 'fetched' | 'gone' | 'failed'
  records: number
  now: Date
}
export interface PreparedPorts {
  db: Database
  files: ExportFiles
  onExport(tx: Transaction, change: ExportChange): Promise<void>
}

export const basisOf = (text: string): Basis => (text === 'provided' ? 'provided' : 'all')

/** Reports the change of an export to its privacy request, if it has one. */
export async function exportNotice(
  { onExport }: Pick<PreparedPorts, 'onExport'>,
  tx: Transaction,
  row: Pick<PreparedExport, 'id' | 'requestId' | 'basis' | 'records'>,
  state: ExportChange['state'],
  now: Date,
): Promise<void> {
  const { id: exportId, requestId, basis, records } = row
  if (requestId !== null) await onExport(tx, { requestId, exportId, basis: basisOf(basis), state, records, now })
}

const viewOf = (row: PreparedExport): ExportView => ({
  id: row.id,
  scope: basisOf(row.basis),
  state: row.state,
  parts_done: row.partsDone,
  parts_total: row.partsTotal,
  records: row.records,
  bytes: row.bytes === null ? null : Number(row.bytes),
  sha256: row.sha256,
  request_id: row.requestId,
  fault: row.fault,
  created_at: row.createdAt.toISOString(),
  ready_at: row.readyAt?.toISOString() ?? null,
  expires_at: row.expiresAt?.toISOString() ?? null,
  downloaded_at: row.downloadedAt?.toISOString() ?? null,
})

/**
 * Returns the signed-in account. Prepared exports are only for people.
 * @throws Problem `forbidden`
 */
function accountOf({ actor }: Context): string {
  if (actor.accountId !== undefined) return actor.accountId
  throw new Problem(
    'forbidden',
    'Exports are prepared for people. An agent exports itself with GET /v1/export/{agent_id}.',
  )
}
const notFound = () => new Problem('not_found', 'You have no export with this id.')

interface Order {
  accountId: string
  requestId: string | null
  basis: Basis
  now: Date
}
/** Stores an export with its job. */
async function order(tx: Transaction, { now, ...what }: Order): Promise<PreparedExport> {
  const row = await tx.preparedExport.create({ data: { id: newId('exp'), ...what, createdAt: now } })
  await enqueue(tx, prepareJob, { id: row.id }, { key: prepareKey(row.id), maxAttempts: mostAttempts })
  return row
}

/** Enqueues the job again for an export whose job runs or was lost; a running job notices that it was replaced. */
export const prepareAnew = (tx: Transaction, id: string): Promise<void> =>
  enqueue(tx, prepareJob, { id }, { key: prepareKey(id), maxAttempts: mostAttempts })

/** Passes the pieces on while the export exists, which it checks once a second. */
async function* whileThere(
  db: Database,
  which: Attempt,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let asked = performance.now()
  for await (const piece of pieces) {
    if (performance.now() - asked > 1_000) {
      asked = performance.now()
      const there = await db.prisma.preparedExport.count({ where: { ...which, state: 'ready' } })
      if (there === 0) throw new Error('an export was deleted while it was fetched')
    }
    yield piece
  }
}

/** Use cases for exports as files: a person requests, watches, downloads and deletes their own. */
export function preparedExports(ports: PreparedPorts) {
  const { db, files } = ports

  /**
   * Returns an export of the person.
   * @throws Problem `not_found` for an unknown export and for one of another person
   */
  async function own(ctx: Context, id: string): Promise<PreparedExport> {
    const row = await db.prisma.preparedExport.findFirst({ where: { id, accountId: accountOf(ctx) } })
    if (!row) throw notFound()
    return row
  }
  function refuseUnready({ state, fault }: PreparedExport, isGone: boolean): void {
    if (state === 'queued' || state === 'running')
      throw new Problem('wrong_state', 'The export is still being prepared. Nothing was lost; ask again in a moment.')
    if (state === 'failed')
      throw new Problem('expired', 'The export could not be prepared, and there is no file. Begin another one.')
    if (isGone)
      throw new Problem(
        'expired',
        fault === 'erased'
          ? 'Something that the file held was erased, so the file was removed. Begin another export to have the rest.'
          : 'The file was kept for four hours and is gone. Begin another export; nothing else was lost.',
      )
  }
  /** Records that the file was read to its end. */
  const fetched = (row: PreparedExport, now: Date): Promise<void> =>
    db.transaction(async (tx) => {
      const { count } = await tx.preparedExport.updateMany({
        where: { id: row.id, downloadedAt: null },
        data: { downloadedAt: now },
      })
      if (count > 0) await exportNotice(ports, tx, row, 'fetched', now)
    })
  async function* counted(ctx: Context, row: PreparedExport, pieces: AsyncIterable<Uint8Array>) {
    yield* pieces
    await fetched(row, ctx.pipeline.clock.now())
  }

  return {
    /**
     * Returns the id of the export that answers a privacy request, creating it in the caller's transaction if none
     * exists. It counts against the daily quota but is never rejected by it.
     * @throws Problem `fenced` when the account is being erased
     */
    async prepare(
      tx: Transaction,
      { accountId, requestId, basis, now }: Order & { requestId: string },
    ): Promise<string> {
      const there = await tx.preparedExport.findFirst({
        where: { accountId, requestId, basis, state: { in: ['queued', 'running', 'ready'] } },
        select: { id: true },
      })
      if (there) return there.id
      const requested = { subjectId: accountId, subjectKind: 'account', requestedBy: requestActor } as const
      await beginExport(tx, { ...requested, payer: undefined, format: 'zip', basis, now })
      return (await order(tx, { accountId, requestId, basis, now })).id
    },

    prepareExport: mutation(prepareExport, async (ctx, { body: { scope: basis } }) => {
      const accountId = accountOf(ctx)
      const { tx, now, actor } = ctx
      await files.check()
      const reply = (row: PreparedExport, details: Record<string, unknown>) => ({
        body: { data: viewOf(row) },
        resourceId: row.id,
        details: { scope: basis, ...details },
        headers: { Location: `/api/privacy/exports/${row.id}` },
      })
      // Serializes the exports of one person, so that the second of two concurrent calls joins the first.
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended('export:' || ${accountId}, 0))`
      const joined = await tx.preparedExport.findFirst({
        where: { accountId, basis, requestId: null, state: { in: ['queued', 'running'] } },
      })
      if (joined) return reply(joined, { joined: true })
      const payer = { accountId, exportsPerDay: actor.quota.exportsPerDay }
      await beginExport(tx, {
        subjectId: accountId,
        subjectKind: 'account',
        payer,
        requestedBy: actor.id,
        format: 'zip',
        basis,
        now,
      })
      return reply(await order(tx, { accountId, requestId: null, basis, now }), {})
    }),

    listExports: read(listExports, async (ctx, { query: { limit, cursor } }) => {
      const accountId = accountOf(ctx)
      const after = parseCursor(cursor)
      const rows = await db.prisma.preparedExport.findMany({
        where: {
          accountId,
          ...(after && { OR: [{ createdAt: { lt: after.at } }, { createdAt: after.at, id: { lt: after.id } }] }),
        },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit + 1,
      })
      const total = await db.prisma.preparedExport.count({ where: { accountId } })
      const { shown, page } = pageOf(rows, limit, total, ({ createdAt, id }) => ({ at: createdAt, id }))
      return {
        resourceId: 'query',
        details: { count: shown.length },
        body: {
          data: shown.map(viewOf),
          ...page,
          quota: {
            limit: ctx.actor.quota.exportsPerDay,
            used: await exportsOfDay(db.prisma, { accountId }, ctx.now),
            resets_at: utcDayOf(ctx.now).end.toISOString(),
          },
        },
      }
    }),

    readExport: read(readExport, async (ctx, { params: { id } }) => {
      const row = await own(ctx, id)
      return { body: { data: viewOf(row) }, resourceId: row.id }
    }),

    downloadExport: stream(downloadExport, async (ctx, { params: { id } }) => {
      const row = await own(ctx, id)
      // Checks the time, because the job that deletes files may be late.
      const isOver = row.expiresAt !== null && row.expiresAt <= ctx.now
      refuseUnready(row, isOver || row.state === 'expired' || row.attempt === null)
      const which = { id: row.id, attempt: row.attempt ?? '' }
      if (!(await files.exists(which)))
        throw new Problem('unavailable', {
          detail:
            'The file is not on this machine. If several serve this installation, they need one folder of exports.',
          headers: { 'Retry-After': '60' },
        })
      return {
        body: counted(ctx, row, whileThere(db, which, files.read(which))),
        resourceId: row.id,
        details: { scope: row.basis },
        headers: {
          'Content-Type': 'application/zip',
          'Content-Disposition': `attachment; filename="export-${row.createdAt.toISOString().slice(0, 10)}.zip"`,
          'Content-Length': String(row.bytes ?? 0),
        },
      }
    }),

    deleteExport: mutation(deleteExport, async (ctx, { params: { id } }) => {
      const accountId = accountOf(ctx)
      const [row] = await ctx.tx.$queryRaw<{ attempt: string | null }[]>`
        SELECT attempt FROM prepared_exports WHERE id = ${id} AND account_id = ${accountId} FOR UPDATE`
      if (!row) throw notFound()
      if (row.attempt !== null) await files.check()
      const gone = await ctx.tx.preparedExport.delete({ where: { id } })
      await exportNotice(ports, ctx.tx, gone, 'gone', ctx.now)
      return {
        body: undefined,
        resourceId: id,
        // After a crash here, no row has the file, so the upkeep job deletes it.
        afterCommit: async () => {
          if (gone.attempt !== null) await files.remove({ id, attempt: gone.attempt })
          return { body: undefined }
        },
      }
    }),
  }
}
