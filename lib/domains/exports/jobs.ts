import { z } from 'zod'
import { organisationAndLocale } from '#lib/domains/accounts/queries.ts'
import { ownedAgents } from '#lib/domains/agents/queries.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import type { ExportReader } from '#lib/kernel/exporter.ts'
import { newId } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { zipArchive } from './archive.ts'
import { personDocument } from './document.ts'
import type { Attempt } from './export-files.ts'
import { basisOf, type ExportsDeps, exportNotice, type PreparedExports, prepareAnew, prepareJob } from './prepared.ts'
import type { IndexLanguage } from './readable-index.ts'
import { lockExpiredExports, lockUnfinishedExport, unfinishedExports } from './repository.ts'
import { preparedExportRetention, rememberedFor } from './rules.ts'

/** Maximum number of rows per transaction. */
const batch = 100
/** Milliseconds without a write to a file, or without a lock on a job, after which the process is considered dead. */
const patience = 2 * 60_000

/** Expires one batch of exports whose time is over. Returns their number. */
async function expireSome(ports: PreparedExports, ctx: Context): Promise<number> {
  const { db, files } = ports
  const { now } = ctx
  const deleted = await db.transaction(async (tx) => {
    const due = await lockExpiredExports(tx, { now, limit: batch })
    const ids = due.map(({ id }) => id)
    const rows = await tx.preparedExport.findMany({ where: { id: { in: ids } } })
    await tx.preparedExport.updateMany({ where: { id: { in: ids } }, data: { state: 'expired', agents: [] } })
    for (const row of rows) if (row.downloadedAt === null) await exportNotice(ports, tx, row, 'gone', now)
    await notePurge(ctx, tx, {
      what: 'prepared exports that expired',
      results: { exportsDeleted: rows.length },
      resourceType: 'export',
      resourceId: 'expired',
    })
    return rows
  })
  for (const { id, attempt } of deleted) if (attempt !== null) await files.remove({ id, attempt })
  return deleted.length
}

/**
 * The periodic upkeep: expires files after four hours, deletes their rows later, deletes files that a crash left, and
 * restarts exports of killed workers.
 */
export function exportUpkeep(ports: PreparedExports) {
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
type ExportUpkeep = ReturnType<typeof exportUpkeep>

/** Milliseconds between updates of the progress. */
const reported = 500

/** Another attempt has replaced this one, or the export was deleted. */
class Replaced extends Error {}

/** Makes the archive, and updates the progress of the export meanwhile. @throws Replaced */
async function* watched(
  { db, exporters, personExporters }: ExportsDeps,
  which: Attempt,
  reader: ExportReader,
  { accountId, locale }: { accountId: string; locale: IndexLanguage },
) {
  const { head, parts } = personDocument({ person: personExporters, agent: exporters }, accountId, reader)
  const so = { done: 0, records: 0 }
  const note = async () => {
    const { count } = await db.prisma.preparedExport.updateMany({
      where: { ...which, state: 'running' },
      data: { partsDone: so.done, partsTotal: parts.length, records: so.records },
    })
    if (count === 0) throw new Replaced()
  }
  await note()
  let lastReport = performance.now()
  const part = (records: number) => {
    so.done++
    so.records += records
  }
  for await (const piece of zipArchive(head, parts, { watch: { part }, locale })) {
    if (performance.now() - lastReport > reported) {
      await note()
      lastReport = performance.now()
    }
    yield piece
  }
  await note()
}

/** Sets the export to ready, unless the attempt was replaced. */
const finish = (ports: ExportsDeps, which: Attempt, made: { bytes: number; sha256: string }) =>
  ports.db.transaction(async (tx: Transaction) => {
    const now = ports.clock.now()
    const [row] = await tx.preparedExport.updateManyAndReturn({
      where: { ...which, state: 'running' },
      data: {
        state: 'ready',
        bytes: made.bytes,
        sha256: made.sha256,
        readyAt: now,
        expiresAt: new Date(now.getTime() + preparedExportRetention),
      },
    })
    if (!row) throw new Replaced()
    await exportNotice(ports, tx, row, 'ready', now)
  })

/**
 * Prepares the file of an export. After a crash, the next attempt or the upkeep job deletes the partial file. The row
 * is set to `ready` once the file is complete.
 */
export function preparation(ports: ExportsDeps) {
  const { db, files, clock } = ports

  /** Claims the export for this attempt. Undefined when nothing remains to be done. */
  const take = (id: string, attempt: string, agents: string[]) =>
    db.transaction(async (tx) => {
      const [former] = await lockUnfinishedExport(tx, { id })
      if (!former) return undefined
      const row = await tx.preparedExport.update({
        where: { id },
        data: { state: 'running', attempt, agents, partsDone: 0, partsTotal: 0, records: 0, fault: null },
      })
      return { row, former: former.attempt }
    })

  /** Notes why a queued export cannot begin, and rethrows the error. */
  async function recordFault(id: string, error: unknown): Promise<never> {
    const fault = Problem.is(error) ? error.code : 'internal'
    await db.prisma.preparedExport.updateMany({ where: { id, state: 'queued' }, data: { fault } })
    throw error
  }

  return {
    /**
     * Prepares one export. Idempotent and safe to run concurrently: the later attempt wins. Rethrows errors, so that
     * the queue retries.
     */
    async run(id: string): Promise<void> {
      const asked = await db.prisma.preparedExport.findUnique({ where: { id }, select: { accountId: true } })
      if (!asked) return
      const account = await organisationAndLocale(db, asked.accountId)
      const person = account && { ...account, agents: await ownedAgents(db, asked.accountId) }
      // The account was deleted; its erasure also deletes the row.
      if (!person) return
      await files.check().catch((error: unknown) => recordFault(id, error))
      const which = { id, attempt: newId('att') }
      const taken = await take(id, which.attempt, person.agents)
      if (!taken) return
      if (taken.former !== null) await files.remove({ id, attempt: taken.former })
      const reader: ExportReader = {
        basis: basisOf(taken.row.basis),
        id: `user:${asked.accountId}`,
        agents: person.agents,
        organisationId: person.organisationId,
        isAdmin: false,
        seesPrivate: true,
        until: clock.now(),
      }
      try {
        await finish(
          ports,
          which,
          await files.write(
            which,
            watched(ports, which, reader, { accountId: asked.accountId, locale: person.locale }),
          ),
        )
      } catch (error) {
        await files.remove(which)
        if (error instanceof Replaced) return
        const fault = Problem.is(error) ? error.code : 'internal'
        const { count } = await db.prisma.preparedExport.updateMany({
          where: { ...which, state: 'running' },
          data: { state: 'queued', fault },
        })
        // The replacing attempt has also deleted the file.
        if (count === 0) return
        throw error
      }
    },
  }
}
type Preparation = ReturnType<typeof preparation>

export const exportJobs = (preparation: Preparation, upkeep: ExportUpkeep) => [
  job({
    name: prepareJob,
    payload: z.strictObject({ id: z.string() }),
    run: (_ctx, { id }) => preparation.run(id),
  }),
  job({ name: 'exports.upkeep', payload: z.unknown(), cron: '* * * * *', run: (ctx) => upkeep.run(ctx) }),
]
