import type { Actor, Context } from '#lib/kernel/context.ts'
import { decodeCursor, encodeCursor, notOurCursor } from '#lib/kernel/pages.ts'
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

/** `reader` is who sees its own alone: the address of others, earlier users of an agent among them, is not theirs to know. */
const entryOf = (row: EntryRow, reader?: string): AuditLogEntry =>
  AuditLogEntry.parse({
    id: row.id,
    action: row.action,
    agentId: row.agent_id,
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    timestamp: row.at.toISOString(),
    ip: reader === undefined || reader === row.agent_id ? row.ip : '',
    details: row.details,
  })

/** How far a total is counted. */
const countedTo = 1_001
/** Entries that an export asks for at once. */
const exportPage = 500

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
    if (!after || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(after.id)) throw notOurCursor()
    add((at) => `at <= ${at}`, after.at)
    values.push(after.id)
    conditions.push(`(at, id) < ($${values.length - 1}, $${values.length}::uuid)`)
  }
  return { sql: conditions.join(' AND '), values }
}

/** Reads the log. */
export function auditService(db: Database) {
  const ownOnly = (actor: Actor): readonly string[] | undefined =>
    actor.can('audit:audit') ? undefined : [actor.id, ...actor.agents]
  const rows = (where: Where, limit: number): Promise<EntryRow[]> =>
    db.query(
      undefined,
      `SELECT * FROM audit_entries WHERE ${where.sql} ORDER BY at DESC, id DESC LIMIT ${limit}`,
      where.values,
    )

  /** Entries in code, newest first, at most `limit`. */
  const query = async (filters: AuditFilters, now: Date, limit = 100): Promise<AuditLogEntry[]> =>
    (await rows(whereOf(filters, undefined, now), limit)).map((row) => entryOf(row))

  async function* exported(
    { actor, now }: Context,
    filters: AuditFilters,
    format: 'csv' | 'jsonl',
  ): AsyncIterable<string> {
    const own = ownOnly(actor)
    const shown = (row: EntryRow) => entryOf(row, own && actor.id)
    if (format === 'csv') yield 'id,timestamp,action,agentId,resourceType,resourceId,ip,details\r\n'
    // Page by page, so that a reader who stops reading holds no connection and no lock.
    for (let cursor: string | undefined; ; ) {
      const page = await rows(whereOf({ ...filters, cursor }, own, now), exportPage)
      const last = page.at(-1)
      if (!last) return
      cursor = encodeCursor(last.at, last.id)
      yield page
        .map(shown)
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
      const own = ownOnly(ctx.actor)
      const { cursor: _, ...uncut } = filters
      const counted = whereOf(uncut, own, ctx.now)
      const [found, [count]] = await Promise.all([
        rows(whereOf(filters, own, ctx.now), limit + 1),
        db.query<{ n: number }>(
          undefined,
          `SELECT count(*)::int AS n FROM (SELECT 1 FROM audit_entries WHERE ${counted.sql} LIMIT ${countedTo}) AS c`,
          counted.values,
        ),
      ])
      const shown = found.slice(0, limit)
      const last = found.length > limit ? shown.at(-1) : undefined
      return {
        body: {
          data: shown.map((row) => entryOf(row, own && ctx.actor.id)),
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
      body: exported(ctx, filters, format),
      resourceId: 'query',
      details: { filters: Object.keys(filters), format },
      headers: {
        'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl',
        'Content-Disposition': `attachment; filename="audit.${format}"`,
      },
    })),
  }
}
