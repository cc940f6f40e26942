import { decodeCursor, notOurCursor, type TimeCursor } from '#lib/kernel/pages.ts'
import type { AuditFilters } from './contract.ts'
import type { EntrySearch } from './repository.ts'
import { oldestRead } from './rules.ts'

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
 * What to search for, limited to 90 days and, without the right to audit, to the actor's own entries. `within` narrows
 * it to a period: from `at` (inclusive) to `before` (exclusive).
 */
export function searchOf(
  filters: Cut,
  ownOnly: readonly string[] | undefined,
  now: Date,
  within: { at: Date; before?: Date | undefined } = { at: oldestOf(filters, now) },
): EntrySearch {
  const after = auditCursorOf(filters.cursor)
  return {
    from: within.at,
    before: within.before ?? null,
    to: filters.to ?? null,
    own: ownOnly ?? null,
    agent_id: filters.agent_id || null,
    action: filters.action ?? null,
    resource_type: filters.resource_type || null,
    resource_id: filters.resource_id || null,
    q: filters.q ?? null,
    reads: filters.reads === false ? false : null,
    cursor_at: after?.at ?? null,
    cursor_id: after?.id ?? null,
  }
}

/**
 * Whether an index covers the filters, however many entries exist. Text, or an action or resource type without other
 * filters, is searched in steps of time, and so is the log without reads.
 */
export const isIndexed = (filters: AuditFilters, ownOnly: readonly string[] | undefined): boolean =>
  filters.q === undefined &&
  (filters.resource_id !== undefined ||
    filters.agent_id !== undefined ||
    ((ownOnly !== undefined || (filters.action === undefined && filters.reads !== false)) &&
      filters.resource_type === undefined))
