import type { Context } from '#lib/kernel/context.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import type { Attempt } from './export-files.ts'
import { type PreparedPorts, prepareAnew, prepareJob, tellOf } from './prepared.ts'
import { rememberedFor } from './rules.ts'

/** Rows of one transaction. */
const batch = 100
/** A file that nothing was written to for so long, and a job that nobody has for so long, are those of a process that died; milliseconds. */
const patience = 2 * 60_000

interface UnderWay {
  id: string
  attempt: string | null
  /** Whether a job will still come to it. */
  has_job: boolean
  /** For how long a worker says that it has the job, in milliseconds by the database's clock; null where none does. */
  locked_for: number | null
}

/**
 * What goes by the clock: files whose four hours are over, what it is remembered of them, what a crash left behind; and exports that a
 * killed worker left in the middle begin again.
 */
export function exportUpkeep(ports: PreparedPorts) {
  const { db, files } = ports

  /** Of those whose time is over, some; returns how many. */
  const expireSome = async (ctx: Context): Promise<number> => {
    const { now } = ctx
    const gone = await db.transaction(async (tx) => {
      const due = await tx.$queryRaw<{ id: string }[]>`
        SELECT id FROM prepared_exports WHERE state = 'ready' AND expires_at <= ${now}
        ORDER BY expires_at LIMIT ${batch}::int FOR UPDATE SKIP LOCKED`
      const ids = due.map(({ id }) => id)
      const rows = await tx.preparedExport.findMany({ where: { id: { in: ids } } })
      await tx.preparedExport.updateMany({ where: { id: { in: ids } }, data: { state: 'expired', agents: [] } })
      for (const row of rows) if (row.downloadedAt === null) await tellOf(ports, tx, row, 'gone', now)
      await notePurge(ctx.gate.recordDeletion, ctx, tx, {
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

  /** Gives up what no job comes to any more, and has what a dead worker left prepared anew. */
  async function revive(now: Date): Promise<void> {
    const rows = await db.query<UnderWay>(
      'exports-under-way',
      `SELECT p.id, p.attempt, j.id IS NOT NULL AS has_job, extract(epoch FROM now() - j.locked_at)::float8 * 1000 AS locked_for
       FROM prepared_exports p LEFT JOIN graphile_worker.jobs j
         ON j.key = $1 || ':' || p.id AND (j.locked_at IS NOT NULL OR j.attempts < j.max_attempts)
       WHERE p.state IN ('queued', 'running') AND p.created_at < $2`,
      [prepareJob, new Date(now.getTime() - patience)],
    )
    if (rows.length === 0) return
    const idle = new Map((await files.list()).map((file) => [file.attempt, file.idle]))
    for (const { id, attempt, has_job, locked_for } of rows) {
      const isAlive = attempt !== null && (idle.get(attempt) ?? patience) < patience
      if (has_job && (locked_for === null || locked_for < patience || isAlive)) continue
      await db.transaction(async (tx) => {
        if (has_job) return prepareAnew(tx, id)
        const [row] = await tx.preparedExport.updateManyAndReturn({
          where: { id, state: { in: ['queued', 'running'] } },
          data: { state: 'failed', agents: [], fault: 'internal' },
        })
        if (row) await tellOf(ports, tx, row, 'failed', now)
      })
    }
  }

  /** Removes files that no export has: of attempts that were replaced or killed, of exports that are gone. */
  async function sweep(): Promise<number> {
    const found = await files.list()
    const ids = [...new Set(found.map(({ id }) => id))]
    // After the folder: a file that is made meanwhile is not in the list.
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
      while ((await expireSome(ctx)) === batch);
      await forget(now)
      await revive(now)
      await sweep()
    },
  }
}
export type ExportUpkeep = ReturnType<typeof exportUpkeep>
