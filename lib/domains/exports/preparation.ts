import type { Clock } from '#lib/kernel/clock.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Exporter, ExportReader, PersonExporter } from '#lib/kernel/exporter.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { zipArchive } from './archive.ts'
import type { Attempt } from './export-files.ts'
import type { IndexLanguage } from './index-words.ts'
import { personDocument } from './person-document.ts'
import { basisOf, exportNotice, type PreparedPorts } from './prepared.ts'
import { lockUnfinishedExport } from './repository.ts'
import { preparedExportRetention } from './rules.ts'

export interface PreparationPorts extends PreparedPorts {
  clock: Clock
  exporters: readonly Exporter[]
  personExporters: readonly PersonExporter[]
  /**
   * Returns the person's organization, language and owned agents, without agents that are being erased; undefined for an unknown
   * account.
   */
  personOf(accountId: string): Promise<{ organisationId: string; locale: IndexLanguage; agents: string[] } | undefined>
}

/** Milliseconds between updates of the progress. */
const told = 500

/** Another attempt has replaced this one, or the export was deleted. */
class Replaced extends Error {}

/** Makes the archive, and updates the progress of the export meanwhile. @throws Replaced */
async function* watched(
  { db, exporters, personExporters }: PreparationPorts,
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
  let noted = performance.now()
  const part = (records: number) => {
    so.done++
    so.records += records
  }
  for await (const piece of zipArchive(head, parts, { watch: { part }, locale })) {
    if (performance.now() - noted > told) {
      await note()
      noted = performance.now()
    }
    yield piece
  }
  await note()
}

/** Sets the export to ready, unless the attempt was replaced. */
const finish = (ports: PreparationPorts, which: Attempt, made: { bytes: number; sha256: string }) =>
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
export function preparation(ports: PreparationPorts) {
  const { db, files, clock, personOf } = ports

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
  async function noted(id: string, error: unknown): Promise<never> {
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
      const person = await personOf(asked.accountId)
      // The account was deleted; its erasure also deletes the row.
      if (!person) return
      await files.check().catch((error: unknown) => noted(id, error))
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
export type Preparation = ReturnType<typeof preparation>
