import type { Transaction } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { PreparedExport } from '../../../generated/prisma/client.ts'
import { exportDownload } from './download.ts'
import {
  accountOf,
  exportNotFound,
  exportNotice,
  orderPreparation,
  ownExport,
  type PreparationOrder,
  type PreparedPorts,
  viewOf,
} from './prepared.ts'
import { deleteExport, listExports, prepareExport, readExport } from './prepared-contract.ts'
import { beginExport, exportsOfDay, requestActor } from './quota.ts'
import { lockExportsOf, lockOwnExport } from './repository.ts'
import { utcDayOf } from './rules.ts'

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

const exportPreparation = ({ files }: PreparedPorts) =>
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

const exportList = ({ db }: PreparedPorts) =>
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

const exportDeletion = (ports: PreparedPorts) =>
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

/** Use cases of people for their own exports as files. */
export function preparedExports(ports: PreparedPorts) {
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
