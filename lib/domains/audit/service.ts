import type { Context } from '#lib/kernel/context.ts'
import { decodeCursor, encodeCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type AuditFilters, AuditLogEntry, exportAudit, queryAudit } from './contract.ts'
import { csvCell, oldestRead } from './rules.ts'

interface EntryRow {
  id: string
  at: Date
  action: string
  agent_id: string
  resource_type: string
  resource_id: string
  ip: string
  details: Record<string, unknown>
}

const entryOf = (row: EntryRow): AuditLogEntry =>
  AuditLogEntry.parse({
    id: row.id,
    action: row.action,
    agentId: row.agent_id,
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    timestamp: row.at.toISOString(),
    ip: row.ip,
    details: row.details,
  })

/** How far a total is counted. */
const countedTo = 1_001

interface Where {
  sql: string
  values: unknown[]
}

/** The filters as SQL. Nothing older than 90 days, nothing of others' for who sees their own alone. */
export function whereOf(
  filters: AuditFilters & { cursor?: string | undefined },
  ownOnly: readonly string[] | undefined,
  now: Date,
): Where {
  const oldest = oldestRead(now)
  const values: unknown[] = [filters.from && filters.from > oldest ? filters.from : oldest]
  const conditions = ['at >= $1']
  const add = (condition: (at: string) => string, value: unknown): void => {
    values.push(value)
    conditions.push(condition(`$${values.length}`))
  }
  if (ownOnly) add((at) => `agent_id = ANY(${at}::text[])`, ownOnly)
  if (filters.agent_id) add((at) => `agent_id = ${at}`, filters.agent_id)
  if (filters.action) add((at) => `action = ${at}`, filters.action)
  if (filters.resource_type) add((at) => `resource_type = ${at}`, filters.resource_type)
  if (filters.resource_id) add((at) => `resource_id = ${at}`, filters.resource_id)
  if (filters.to) add((at) => `at <= ${at}`, filters.to)
  if (filters.q)
    add(
      (at) => `(strpos(lower(resource_id), lower(${at})) > 0 OR strpos(lower(details::text), lower(${at})) > 0)`,
      filters.q,
    )
  if (filters.cursor) {
    const after = decodeCursor(filters.cursor)
    if (!after)
      throw new Problem('invalid', {
        detail: 'One field is not valid.',
        issues: [{ path: ['query', 'cursor'], message: 'is not a cursor of this list' }],
      })
    add((at) => `at <= ${at}`, after.at)
    values.push(after.id)
    conditions.push(`(at, id) < ($${values.length - 1}, $${values.length}::uuid)`)
  }
  return { sql: conditions.join(' AND '), values }
}

/** Reads the log. */
export function auditService(db: Database) {
  const ownOnly = (ctx: Context): readonly string[] | undefined =>
    ctx.actor.can('audit:audit') ? undefined : [ctx.actor.id, ...ctx.actor.agents]
  const rows = async (where: Where, limit: number): Promise<EntryRow[]> =>
    (
      await db.pool.query<EntryRow>(
        `SELECT * FROM audit_entries WHERE ${where.sql} ORDER BY at DESC, id DESC LIMIT ${limit}`,
        where.values,
      )
    ).rows

  /** Entries in code, newest first, at most `limit`. */
  const query = async (filters: AuditFilters, now: Date, limit = 100): Promise<AuditLogEntry[]> =>
    (await rows(whereOf(filters, undefined, now), limit)).map(entryOf)

  async function* exported(where: Where, format: 'csv' | 'jsonl'): AsyncIterable<string> {
    if (format === 'csv') yield 'id,timestamp,action,agentId,resourceType,resourceId,ip,details\r\n'
    for await (const group of db.cursor<EntryRow>(
      `SELECT * FROM audit_entries WHERE ${where.sql} ORDER BY at DESC, id DESC`,
      where.values,
      500,
    )) {
      yield group
        .map(entryOf)
        .map((entry) =>
          format === 'jsonl'
            ? `${JSON.stringify(entry)}\n`
            : `${[entry.id, entry.timestamp, entry.action, entry.agentId, entry.resourceType, entry.resourceId, entry.ip, JSON.stringify(entry.details)].map(csvCell).join(',')}\r\n`,
        )
        .join('')
    }
  }

  return {
    query,
    list: read(queryAudit, async (ctx, { query: { limit, ...filters } }) => {
      const own = ownOnly(ctx)
      const { cursor: _, ...uncut } = filters
      const counted = whereOf(uncut, own, ctx.now)
      const [found, [count]] = await Promise.all([
        rows(whereOf(filters, own, ctx.now), limit + 1),
        db.pool
          .query<{ n: number }>(
            `SELECT count(*)::int AS n FROM (SELECT 1 FROM audit_entries WHERE ${counted.sql} LIMIT ${countedTo}) AS c`,
            counted.values,
          )
          .then((result) => result.rows),
      ])
      const shown = found.slice(0, limit)
      const last = found.length > limit ? shown.at(-1) : undefined
      return {
        body: {
          data: shown.map(entryOf),
          total: count?.n ?? 0,
          offset: 0,
          limit,
          next_cursor: last ? encodeCursor(last.at, last.id) : null,
        },
        resourceId: 'query',
        details: { filters: Object.keys(filters), count: shown.length },
      }
    }),
    export: stream(exportAudit, async (ctx, { query: { format, ...filters } }) => ({
      body: exported(whereOf(filters, ownOnly(ctx), ctx.now), format),
      resourceId: 'query',
      details: { filters: Object.keys(filters), format },
      headers: {
        'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl',
        'Content-Disposition': `attachment; filename="audit.${format}"`,
      },
    })),
  }
}
