import { decodeCursor, notOurCursor, type TimeCursor } from '#lib/kernel/pages.ts'
import type { AuditFilters } from './contract.ts'
import { oldestRead } from './rules.ts'

export interface Where {
  sql: string
  values: unknown[]
}
type Cut = AuditFilters & { cursor?: string | undefined }

/** Decodes a cursor of the log; undefined without a cursor. @throws Problem `invalid` for a cursor of another origin */
export function auditCursorOf(cursor: string | undefined): TimeCursor | undefined {
  if (cursor === undefined) return undefined
  const after = decodeCursor(cursor)
  if (!after || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(after.id)) throw notOurCursor()
  return after
}

/** The earliest time to search: at most 90 days back. */
export function oldestOf({ from }: AuditFilters, now: Date): Date {
  const oldest = oldestRead(now)
  return from && from > oldest ? from : oldest
}

/**
 * The filters as SQL, limited to 90 days and, without the right to audit, to the actor's own entries. `within` narrows
 * it to a period: from `at` (inclusive) to `before` (exclusive).
 */
export function whereOf(
  filters: Cut,
  ownOnly: readonly string[] | undefined,
  now: Date,
  within: { at: Date; before?: Date | undefined } = { at: oldestOf(filters, now) },
): Where {
  const values: unknown[] = [within.at]
  const conditions = ['at >= $1']
  const add = (condition: (at: string) => string, value: unknown): void => {
    values.push(value)
    conditions.push(condition(`$${values.length}`))
  }
  if (within.before) add((at) => `at < ${at}`, within.before)
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
  const after = auditCursorOf(filters.cursor)
  if (after) {
    add((at) => `at <= ${at}`, after.at)
    values.push(after.id)
    conditions.push(`(at, id) < ($${values.length - 1}, $${values.length}::uuid)`)
  }
  return { sql: conditions.join(' AND '), values }
}

/**
 * Whether an index covers the filters, however many entries exist. Text, or an action or resource type without other
 * filters, is searched in steps of time.
 */
export const isIndexed = (filters: AuditFilters, ownOnly: readonly string[] | undefined): boolean =>
  filters.q === undefined &&
  (filters.resource_id !== undefined ||
    filters.agent_id !== undefined ||
    ((ownOnly !== undefined || filters.action === undefined) && filters.resource_type === undefined))
