import type { Context } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { PreparedExport } from '../../../generated/prisma/client.ts'
import type { Attempt } from './export-files.ts'
import { exportNotice, ownExport, type PreparedPorts } from './prepared.ts'
import { downloadExport } from './prepared-contract.ts'

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
const markDownloaded = (ports: PreparedPorts, row: PreparedExport, now: Date): Promise<void> =>
  ports.db.transaction(async (tx) => {
    const { count } = await tx.preparedExport.updateMany({
      where: { id: row.id, downloadedAt: null },
      data: { downloadedAt: now },
    })
    if (count > 0) await exportNotice(ports, tx, row, 'fetched', now)
  })
async function* marksDownloaded(
  ports: PreparedPorts,
  ctx: Context,
  row: PreparedExport,
  pieces: AsyncIterable<Uint8Array>,
) {
  yield* pieces
  await markDownloaded(ports, row, ctx.pipeline.clock.now())
}

/** Streams the file of a person's own export, and records a complete download. */
export const exportDownload = (ports: PreparedPorts) => {
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
