import type { PreparedExport } from '#generated/prisma/client.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { deleteExport, downloadExport, listCopyProblems, listExports, prepareExport, readExport } from './contract.ts'
import { agentExport } from './export.ts'
import type { Attempt } from './export-files.ts'
import { documentImport } from './import.ts'
import { inventory } from './inventory.ts'
import {
  accountOf,
  type ExportsDeps,
  exportNotFound,
  exportNotice,
  orderPreparation,
  ownExport,
  type PreparationOrder,
  type PreparedExports,
  viewOf,
} from './prepared.ts'
import { beginExport, exportsOfDay, requestActor } from './quota.ts'
import { copiesWithProblem, lockExportsOf, lockOwnExport } from './repository.ts'
import { overdueBefore, rememberedFor, utcDayOf } from './rules.ts'

const most = 100

/** The copies that the compliance checks count as failed or late, for admins and auditors. */
const copyProblemList = ({ db }: Pick<PreparedExports, 'db'>) =>
  read(listCopyProblems, async ({ now }, { query: { scope: basis, problem } }) => {
    const remembered = new Date(now.getTime() - rememberedFor)
    const rows = await copiesWithProblem(db, { basis, remembered, overdue: overdueBefore(now), limit: most }, problem)
    return {
      body: {
        data: rows.map(({ created_at, expires_at, total: _, ...row }) => ({
          ...row,
          created_at: created_at.toISOString(),
          expires_at: expires_at?.toISOString() ?? null,
        })),
        total: rows[0]?.total ?? 0,
      },
      resourceId: 'list',
      details: { count: rows.length },
    }
  })

/**
 * Returns the id of the export that answers a privacy request, creating it in the caller's transaction if none
 * exists. It counts against the daily quota but is never rejected by it.
 * @throws Problem `fenced` when the account is being erased
 */
async function prepareForRequest(
  tx: Transaction,
  { accountId, requestId, basis, now }: PreparationOrder & { requestId: string },
): Promise<string> {
  const there = await tx.preparedExport.findFirst({
    where: { accountId, requestId, basis, state: { in: ['queued', 'running', 'ready'] } },
    select: { id: true },
  })
  if (there) return there.id
  const requested = { subjectId: accountId, subjectKind: 'account', requestedBy: requestActor } as const
  await beginExport(tx, { ...requested, payer: undefined, format: 'zip', basis, now })
  return (await orderPreparation(tx, { accountId, requestId, basis, now })).id
}

const exportPreparation = ({ files }: PreparedExports) =>
  mutation(prepareExport, async (ctx, { body: { scope: basis } }) => {
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
    await lockExportsOf(tx, { payer: accountId })
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
    return reply(await orderPreparation(tx, { accountId, requestId: null, basis, now }), {})
  })

const exportList = ({ db }: PreparedExports) =>
  read(listExports, async (ctx, { query: { limit, cursor } }) => {
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
  })

const exportDeletion = (ports: PreparedExports) =>
  mutation(deleteExport, async (ctx, { params: { id } }) => {
    const accountId = accountOf(ctx)
    const [row] = await lockOwnExport(ctx.tx, { id, account: accountId })
    if (!row) throw exportNotFound()
    if (row.attempt !== null) await ports.files.check()
    const gone = await ctx.tx.preparedExport.delete({ where: { id } })
    await exportNotice(ports, ctx.tx, gone, 'gone', ctx.now)
    return {
      body: undefined,
      resourceId: id,
      // After a crash here, no row has the file, so the upkeep job deletes it.
      afterCommit: async () => {
        if (gone.attempt !== null) await ports.files.remove({ id, attempt: gone.attempt })
        return { body: undefined }
      },
    }
  })

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
      if (there === 0) throw new Error('The export was deleted during its download.')
    }
    yield piece
  }
}

function refuseUnready({ state, fault }: PreparedExport, isGone: boolean): void {
  if (state === 'queued' || state === 'running')
    throw new Problem('wrong_state', 'The export is not ready yet. Try again in a moment.')
  if (state === 'failed') throw new Problem('expired', 'The export failed, so there is no file. Start another export.')
  if (isGone)
    throw new Problem(
      'expired',
      fault === 'erased'
        ? 'The file was deleted because data in it was erased. Start another export for the remaining data.'
        : 'The file expired after four hours. Start another export.',
    )
}
/** Records that the file was read to its end. */
const markDownloaded = (ports: PreparedExports, row: PreparedExport, now: Date): Promise<void> =>
  ports.db.transaction(async (tx) => {
    const { count } = await tx.preparedExport.updateMany({
      where: { id: row.id, downloadedAt: null },
      data: { downloadedAt: now },
    })
    if (count > 0) await exportNotice(ports, tx, row, 'fetched', now)
  })
async function* marksDownloaded(
  ports: PreparedExports,
  ctx: Context,
  row: PreparedExport,
  pieces: AsyncIterable<Uint8Array>,
) {
  yield* pieces
  await markDownloaded(ports, row, ctx.pipeline.clock.now())
}

/** Streams the file of a person's own export, and records a complete download. */
const exportDownload = (ports: PreparedExports) => {
  const { db, files } = ports
  return stream(downloadExport, async (ctx, { params: { id } }) => {
    const row = await ownExport(ports, ctx, id)
    // Checks the time, because the job that deletes files may be late.
    const isOver = row.expiresAt !== null && row.expiresAt <= ctx.now
    refuseUnready(row, isOver || row.state === 'expired' || row.attempt === null)
    const which = { id: row.id, attempt: row.attempt ?? '' }
    if (!(await files.exists(which)))
      throw new Problem('unavailable', {
        detail:
          'The file is not on this server. If several servers run this installation, they must share one folder of exports.',
        headers: { 'Retry-After': '60' },
      })
    return {
      body: marksDownloaded(ports, ctx, row, whileThere(db, which, files.read(which))),
      resourceId: row.id,
      details: { scope: row.basis },
      headers: {
        'Content-Type': 'application/zip',
        'Content-Disposition': `attachment; filename="export-${row.createdAt.toISOString().slice(0, 10)}.zip"`,
        'Content-Length': String(row.bytes ?? 0),
      },
    }
  })
}

/** Use cases of people for their own exports as files. */
function preparedExports(ports: PreparedExports) {
  return {
    prepare: prepareForRequest,
    prepareExport: exportPreparation(ports),
    listExports: exportList(ports),
    readExport: read(readExport, async (ctx, { params: { id } }) => {
      const row = await ownExport(ports, ctx, id)
      return { body: { data: viewOf(row) }, resourceId: row.id }
    }),
    downloadExport: exportDownload(ports),
    deleteExport: exportDeletion(ports),
  }
}

/** Use cases that export an agent or a person, list what is stored about them, and import a document of another registry. */
export const exportsService = (ports: ExportsDeps) => ({
  exportAgent: agentExport(ports),
  importDocument: documentImport(ports),
  readInventory: inventory(ports),
  ...preparedExports(ports),
  listCopyProblems: copyProblemList(ports),
})
