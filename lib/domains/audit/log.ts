import type { AuditRecord, PipelinePorts } from '#lib/kernel/context.ts'
import { newUuid, uuidsInSql } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { auditColumns, insertEntries, purgeEntries, runStatement } from './repository.ts'
import { oldestRead } from './rules.ts'

/** SQL expressions of the values in a statement that {@link auditRows} extends. */
export interface AuditValues {
  /** From `uuidsInSql.value()`. */
  uuids: string
  at: string
  action: string
  actorId: string
  resourceType: string
  ip: string
  details: string
}
/** A CTE that writes one entry per row of another CTE, which must have the column `id`. */
export const auditRows = (
  of: string,
  at: AuditValues,
): string => `audited AS (INSERT INTO audit_entries (${auditColumns})
  SELECT ${uuidsInSql.text(at.uuids)}::uuid, ${at.at}::timestamptz, ${at.action}, ${at.actorId}, ${at.resourceType}, ${of}.id, ${at.ip}, ${at.details}::jsonb
  FROM ${of})`

/** Minimum interval between purges that the writes of a process start, in milliseconds. */
const purgeEvery = 60_000

const entryOf = (record: AuditRecord) => ({
  id: newUuid(),
  at: record.at,
  action: record.action,
  agent_id: record.actorId,
  resource_type: record.resourceType,
  resource_id: record.resourceId,
  ip: record.ip,
  details: record.details,
})

export type AuditLog = Pick<PipelinePorts, 'statement' | 'auditWithin' | 'auditGrouped'> & {
  /** Deletes entries older than 90 days by the database clock, whatever time it is given. Returns the number of partitions and rows. */
  purge(now: Date): Promise<number>
  /** Resolves when all accepted entries are stored and no purge is running. */
  drain(): Promise<void>
}

/** Writes the log. The application only inserts; a function of the database deletes. */
export function auditLog(db: Database): AuditLog {
  let pending: { record: AuditRecord; stored: () => void; failed: (error: unknown) => void }[] = []
  let flushing: Promise<void> | undefined
  let purging: Promise<unknown> = Promise.resolve()
  let purgedAt = 0

  const purge = async (now: Date): Promise<number> =>
    (await purgeEntries(db, { before: oldestRead(now) }))[0]?.removed ?? 0
  /** Starts a purge after a write, at most once a minute per process. Reads never return expired entries. */
  const callPurge = (): void => {
    const now = Date.now()
    if (now - purgedAt < purgeEvery) return
    purgedAt = now
    // After a failure, the next minute's write and the hourly job repeat the purge.
    purging = purge(new Date(now)).catch(() => 0)
  }

  async function flush(): Promise<void> {
    while (pending.length > 0) {
      const group = pending
      pending = []
      try {
        await insertEntries(db, { entries: group.map(({ record }) => entryOf(record)) })
        for (const { stored } of group) stored()
      } catch (error) {
        for (const { failed } of group) failed(error)
      }
    }
    flushing = undefined
    callPurge()
  }

  return {
    purge,
    async statement(statement, entry, tx) {
      const values = entry && [
        newUuid(),
        entry.at,
        entry.action,
        entry.actorId,
        entry.resourceType,
        entry.ip,
        JSON.stringify(entry.details),
      ]
      const row = await runStatement(db, tx, statement, values)
      callPurge()
      return row
    },
    async auditWithin(tx, ...records) {
      if (records.length === 0) return
      await insertEntries(tx, { entries: records.map(entryOf) })
      callPurge()
    },
    auditGrouped(record) {
      if (pending.length >= 10_000)
        throw new Problem('unavailable', {
          detail: 'The audit log cannot store entries fast enough. Try again in a second.',
          headers: { 'Retry-After': '1' },
        })
      return new Promise<void>((stored, failed) => {
        pending.push({ record, stored, failed })
        // Entries of the same turn, or during a running insert, share the next insert.
        flushing ??= new Promise<void>((turn) => setImmediate(turn)).then(flush)
      })
    },
    async drain() {
      await flushing
      await purging
    },
  }
}
