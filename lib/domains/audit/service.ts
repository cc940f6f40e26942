import type { Actor, Context } from '#lib/kernel/context.ts'
import { encodeCursor } from '#lib/kernel/pages.ts'
import { read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type Act, actsOf, namedIds } from './acts.ts'
import {
  type AuditAct,
  type AuditFilters,
  AuditLogEntry,
  exportAudit,
  findActors,
  queryActs,
  queryAudit,
} from './contract.ts'
import { type AuditNameDeps, auditNames } from './names.ts'
import { auditReading } from './reading.ts'
import type { EntryRow } from './repository.ts'
import { auditFileName, csvCell } from './rules.ts'
import { searchesService } from './searches.ts'

/** With `reader`, hides addresses of other actors, such as earlier users of an agent. */
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

/** An act with current names. */
export const actView = ({ parts, count, tries = 1 }: Act<EntryRow>, named: ReadonlyMap<string, string>): AuditAct => ({
  parts: parts.map(({ entry, count: n }) => ({
    entry: {
      ...entryOf(entry),
      actorName: named.get(entry.agent_id) ?? null,
      resourceName: named.get(entry.resource_id) ?? null,
    },
    count: n,
  })),
  count,
  tries,
  names: Object.fromEntries(
    parts
      .flatMap(({ entry }) => namedIds(entry))
      .flatMap((id) => {
        const name = named.get(id)
        return name === undefined ? [] : [[id, name]]
      }),
  ),
})

/** Entries per query of an export. */
const exportPage = 500

/** Reads the log. */
export function auditService(db: Database, deps: AuditNameDeps) {
  const log = auditReading(db)
  const names = auditNames(db, deps)
  const ownOnly = (actor: Actor): readonly string[] | undefined =>
    actor.can('audit:audit') ? undefined : [actor.id, ...actor.agents]
  /** Returns at most `limit` entries, newest first. */
  const query = async (filters: AuditFilters, now: Date, limit = 100): Promise<AuditLogEntry[]> =>
    (await log.find(filters, undefined, now, limit)).rows.map((row) => entryOf(row))

  async function* exported(
    { actor, now }: Context,
    filters: AuditFilters,
    format: 'csv' | 'jsonl',
  ): AsyncIterable<string> {
    const own = ownOnly(actor)
    const shown = (row: EntryRow) => entryOf(row, own && actor.id)
    if (format === 'csv') yield 'id,timestamp,action,agentId,resourceType,resourceId,ip,details\r\n'
    // Reads page by page, so that a stalled reader holds no connection and no lock.
    for (let cursor: string | undefined; ; ) {
      const page = await log.find({ ...filters, cursor }, own, now, exportPage)
      yield page.rows
        .map(shown)
        .map((entry) =>
          format === 'jsonl'
            ? `${JSON.stringify(entry)}\n`
            : `${[entry.id, entry.timestamp, entry.action, entry.agentId, entry.resourceType, entry.resourceId, entry.ip, JSON.stringify(entry.details)].map(csvCell).join(',')}\r\n`,
        )
        .join('')
      if (!page.next) return
      cursor = encodeCursor(page.next.at, page.next.id)
    }
  }

  return {
    ...searchesService(db),
    query,
    list: read(queryAudit, async (ctx, { query: { limit, ...filters } }) => {
      const own = ownOnly(ctx.actor)
      const { rows, next, reached } = await log.find(filters, own, ctx.now, limit)
      const [{ total, counted, estimate }, named] = await Promise.all([
        log.count(filters, own, ctx.now, rows.length),
        own ? undefined : names.of(rows),
      ])
      return {
        body: {
          data: rows.map((row) => ({
            ...entryOf(row, own && ctx.actor.id),
            actorName: named?.get(row.agent_id) ?? null,
            resourceName: named?.get(row.resource_id) ?? null,
          })),
          total,
          offset: 0,
          limit,
          next_cursor: next ? encodeCursor(next.at, next.id) : null,
          counted,
          total_estimate: estimate,
          searched_to: reached?.toISOString() ?? null,
        },
        resourceId: 'query',
        details: { filters: Object.keys(filters), count: rows.length },
      }
    }),
    acts: read(queryActs, async (ctx, { query: { limit, ...filters } }) => {
      const { parts, next, reached } = await log.findMoments(filters, ctx.now, limit)
      const [{ total, counted, estimate }, named] = await Promise.all([
        log.count(filters, undefined, ctx.now, parts.length),
        names.of(
          parts.map(({ entry }) => entry),
          parts.flatMap(({ entry }) => namedIds(entry)),
        ),
      ])
      return {
        body: {
          data: actsOf(parts).map((act) => actView(act, named)),
          total,
          offset: 0,
          limit,
          next_cursor: next ? encodeCursor(next.at, next.id) : null,
          counted,
          total_estimate: estimate,
          searched_to: reached?.toISOString() ?? null,
        },
        resourceId: 'query',
        details: { filters: Object.keys(filters), count: parts.length },
      }
    }),
    actors: read(findActors, async (_ctx, { query: { q } }) => {
      const data = await names.find(q)
      return { body: { data }, resourceId: 'actors', details: { count: data.length } }
    }),
    export: stream(exportAudit, async (ctx, { query: { format, ...filters } }) => ({
      body: exported(ctx, filters, format),
      resourceId: 'query',
      details: { filters: Object.keys(filters), format },
      headers: {
        'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl',
        'Content-Disposition': `attachment; filename="${auditFileName({ ...filters, format }, ctx.now)}"`,
      },
    })),
  }
}
