import { decodeCursor, notOurCursor, type Place } from '#lib/kernel/pages.ts'
import type { AuditFilters } from './contract.ts'
import { oldestRead } from './rules.ts'

export interface Where {
  sql: string
  values: unknown[]
}
type Cut = AuditFilters & { cursor?: string | undefined }

/** The place that a cursor of the log names; undefined for its beginning. Throws `invalid` for one that is none of ours. */
export function entryPlace(cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined
  const after = decodeCursor(cursor)
  if (!after || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(after.id)) throw notOurCursor()
  return after
}

/** Nothing older than this is looked at. */
export function oldestOf({ from }: AuditFilters, now: Date): Date {
  const oldest = oldestRead(now)
  return from && from > oldest ? from : oldest
}

/**
 * The filters as SQL. Nothing older than 90 days, nothing of others' for who sees their own alone. `within` narrows it to a stretch of
 * time: from `at` on, and before `before`.
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
  const after = entryPlace(filters.cursor)
  if (after) {
    add((at) => `at <= ${at}`, after.at)
    values.push(after.id)
    conditions.push(`(at, id) < ($${values.length - 1}, $${values.length}::uuid)`)
  }
  return { sql: conditions.join(' AND '), values }
}

/**
 * Whether an index leads to what the filters name, however much else there is. What none leads to (text; an action or a kind of resource
 * by itself) is looked for in steps of time.
 */
export const isIndexed = (filters: AuditFilters, ownOnly: readonly string[] | undefined): boolean =>
  filters.q === undefined &&
  (filters.resource_id !== undefined ||
    filters.agent_id !== undefined ||
    ((ownOnly !== undefined || filters.action === undefined) && filters.resource_type === undefined))
