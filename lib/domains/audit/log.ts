import type { AuditRecord, PipelinePorts, SqlRow, Statement } from '#lib/kernel/context.ts'
import { newUuid, uuidsInSql } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { oldestRead } from './rules.ts'

const columns = 'id, at, action, agent_id, resource_type, resource_id, ip, details'
const insertGroup = `INSERT INTO audit_entries (${columns})
  SELECT ${columns} FROM json_to_recordset($1::json)
  AS e(id uuid, at timestamptz, action text, agent_id text, resource_type text, resource_id text, ip text, details jsonb)`

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
export const auditRows = (of: string, at: AuditValues): string => `audited AS (INSERT INTO audit_entries (${columns})
  SELECT ${uuidsInSql.text(at.uuids)}::uuid, ${at.at}::timestamptz, ${at.action}, ${at.actorId}, ${at.resourceType}, ${of}.id, ${at.ip}, ${at.details}::jsonb
  FROM ${of})`

/** Minimum interval between purges that the writes of a process start, in milliseconds. */
const purgeEvery = 60_000

export type AuditLog = Pick<PipelinePorts, 'statement' | 'auditWithin' | 'auditGrouped'> & {
  /** Deletes entries older than 90 days by the database clock, whatever time it is given. Returns the number of partitions and rows. */
  purge(now: Date): Promise<number>
  /** Resolves when all accepted entries are stored and no purge is running. */
  drain(): Promise<void>
}

/** Writes the log. The application only inserts; a function of the database deletes. */
export function auditLog(db: Database): AuditLog {
  const joined = new Map<string, { audited: string; plain: string }>()
  let pending: { record: AuditRecord; stored: () => void; failed: (error: unknown) => void }[] = []
  let flushing: Promise<void> | undefined
  let purging: Promise<unknown> = Promise.resolve()
  let purgedAt = 0

  const purge = async (now: Date): Promise<number> => {
    const [row] = await db.query<{ removed: number }>('audit-purge', 'SELECT audit_purge($1::timestamptz) AS removed', [
      oldestRead(now),
    ])
    return row?.removed ?? 0
  }
  /** Starts a purge after a write, at most once a minute per process. Reads never return expired entries. */
  const callPurge = (): void => {
    const now = Date.now()
    if (now - purgedAt < purgeEvery) return
    purgedAt = now
    // After a failure, the next minute's write and the hourly job repeat the purge.
    purging = purge(new Date(now)).catch(() => 0)
  }

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

  async function flush(): Promise<void> {
    while (pending.length > 0) {
      const group = pending
      pending = []
      try {
        await db.query('audit-group', insertGroup, [JSON.stringify(group.map(({ record }) => entryOf(record)))])
        for (const { stored } of group) stored()
      } catch (error) {
        for (const { failed } of group) failed(error)
      }
    }
    flushing = undefined
    callPurge()
  }

  const textsOf = ({ name, ctes, values }: Statement) => {
    const known = joined.get(name)
    if (known) return known
    const at = (offset: number) => `$${values.length + offset}`
    const made = {
      plain: `WITH ${ctes} SELECT * FROM done`,
      audited: `WITH ${ctes}, entry AS (INSERT INTO audit_entries (${columns})
        SELECT ${at(1)}::uuid, ${at(2)}::timestamptz, ${at(3)}, ${at(4)}, ${at(5)}, done.resource_id, ${at(6)}, ${at(7)}::jsonb FROM done)
        SELECT * FROM done`,
    }
    joined.set(name, made)
    return made
  }

  return {
    purge,
    async statement(statement, entry, tx) {
      const texts = textsOf(statement)
      const text = entry ? texts.audited : texts.plain
      const values = entry
        ? [
            ...statement.values,
            newUuid(),
            entry.at,
            entry.action,
            entry.actorId,
            entry.resourceType,
            entry.ip,
            JSON.stringify(entry.details),
          ]
        : statement.values
      const rows = tx
        ? await tx.$queryRawUnsafe<SqlRow[]>(text, ...values)
        : await db.query<SqlRow>(statement.name, text, values)
      callPurge()
      return rows[0]
    },
    async auditWithin(tx, ...records) {
      if (records.length === 0) return
      await tx.$executeRawUnsafe(insertGroup, JSON.stringify(records.map(entryOf)))
      callPurge()
    },
    auditGrouped(record) {
      if (pending.length >= 10_000)
        throw new Problem('unavailable', { detail: 'The audit log cannot keep up.', headers: { 'Retry-After': '1' } })
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
