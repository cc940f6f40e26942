import type { Context } from '#lib/kernel/context.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import type { Attempt } from './export-files.ts'
import { exportNotice, type PreparedPorts, prepareAnew, prepareJob } from './prepared.ts'
import { lockExpiredExports, unfinishedExports } from './repository.ts'
import { rememberedFor } from './rules.ts'

/** Maximum number of rows per transaction. */
const batch = 100
/** Milliseconds without a write to a file, or without a lock on a job, after which the process is considered dead. */
const patience = 2 * 60_000

/** Expires one batch of exports whose time is over. Returns their number. */
async function expireSome(ports: PreparedPorts, ctx: Context): Promise<number> {
  const { db, files } = ports
  const { now } = ctx
  const gone = await db.transaction(async (tx) => {
    const due = await lockExpiredExports(tx, { now, limit: batch })
    const ids = due.map(({ id }) => id)
    const rows = await tx.preparedExport.findMany({ where: { id: { in: ids } } })
    await tx.preparedExport.updateMany({ where: { id: { in: ids } }, data: { state: 'expired', agents: [] } })
    for (const row of rows) if (row.downloadedAt === null) await exportNotice(ports, tx, row, 'gone', now)
    await notePurge(ctx.pipeline.recordDeletion, ctx, tx, {
      what: 'prepared exports that expired',
      results: { exportsDeleted: rows.length },
      resourceType: 'export',
      resourceId: 'expired',
    })
    return rows
  })
  for (const { id, attempt } of gone) if (attempt !== null) await files.remove({ id, attempt })
  return gone.length
}

/**
 * The periodic upkeep: expires files after four hours, deletes their rows later, deletes files that a crash left, and
 * restarts exports of killed workers.
 */
export function exportUpkeep(ports: PreparedPorts) {
  const { db, files } = ports

  const forget = (now: Date): Promise<unknown> => {
    const before = new Date(now.getTime() - rememberedFor)
    return db.prisma.preparedExport.deleteMany({
      where: {
        OR: [
          { state: 'expired', expiresAt: { lt: before } },
          { state: 'expired', expiresAt: null, createdAt: { lt: before } },
          { state: 'failed', createdAt: { lt: before } },
        ],
      },
    })
  }

  /** Fails exports without a job, and restarts exports of dead workers. */
  async function revive(now: Date): Promise<void> {
    const rows = await unfinishedExports(db, { job: prepareJob, before: new Date(now.getTime() - patience) })
    if (rows.length === 0) return
    const idle = new Map((await files.list()).map((file) => [file.attempt, file.idle]))
    for (const { id, attempt, fault, has_job, locked_for } of rows) {
      const isAlive = attempt !== null && (idle.get(attempt) ?? patience) < patience
      if (has_job && (locked_for === null || locked_for < patience || isAlive)) continue
      await db.transaction(async (tx) => {
        if (has_job) return prepareAnew(tx, id)
        const [row] = await tx.preparedExport.updateManyAndReturn({
          where: { id, state: { in: ['queued', 'running'] } },
          // The last attempt stored its error.
          data: { state: 'failed', agents: [], fault: fault ?? 'internal' },
        })
        if (row) await exportNotice(ports, tx, row, 'failed', now)
      })
    }
  }

  /** Deletes files without an export: of replaced or killed attempts, and of deleted exports. Returns their number. */
  async function sweep(): Promise<number> {
    const found = await files.list()
    const ids = [...new Set(found.map(({ id }) => id))]
    // Read after the folder, so that a file created meanwhile is not considered an orphan.
    const rows = await db.prisma.preparedExport.findMany({
      where: { id: { in: ids } },
      select: { id: true, attempt: true, state: true },
    })
    const known = new Map(rows.map((row) => [row.id, row]))
    const isOrphan = ({ id, attempt, isWhole }: Attempt & { isWhole: boolean }): boolean => {
      const row = known.get(id)
      if (row?.attempt !== attempt) return true
      return row.state === 'ready' ? !isWhole : row.state !== 'running'
    }
    const orphans = found.filter(isOrphan)
    for (const orphan of orphans) await files.remove(orphan)
    return orphans.length
  }

  return {
    async run(ctx: Context): Promise<void> {
      const { now } = ctx
      await files.check()
      while ((await expireSome(ports, ctx)) === batch);
      await forget(now)
      await revive(now)
      await sweep()
    },
  }
}
export type ExportUpkeep = ReturnType<typeof exportUpkeep>
