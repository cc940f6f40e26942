import { type DatabaseQuery, type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import { oldestRead } from './rules.ts'

const hour = 3_600_000

/** Maximum number of entries of the last day that are searched, newest first. */
const lookedThrough = 50_000

/** The minimum number of times that these operations succeeded within the last day, and the last time. Only success writes an entry. */
export async function usesOf(
  query: DatabaseQuery,
  operations: readonly string[],
  now: Date,
): Promise<{ uses: number; last: Date | null }> {
  const [row] = await query<{ uses: number; last: Date | null }>(
    `SELECT count(*)::int AS uses, max(at) AS last
     FROM (SELECT at, details FROM audit_entries WHERE at >= $1 ORDER BY at DESC, id DESC LIMIT ${lookedThrough}) AS newest
     WHERE details->>'operation' = ANY($2::text[])`,
    [new Date(now.getTime() - 24 * hour), operations],
  )
  return { uses: row?.uses ?? 0, last: row?.last ?? null }
}

/** Checks that the application cannot alter the log and that old entries are deleted in time. */
export const auditEvidence = (): EvidenceCheck[] => [
  {
    line: 'audit_trail',
    name: 'audit.append-only',
    page: '/admin/audit',
    async ask(query) {
      // Checks the table and every daily partition, with the application's current role.
      const [row] = await query<{ tables: number; writable: number; readable: boolean; owned: boolean }>(
        `SELECT count(*)::int AS tables,
           count(*) FILTER (WHERE has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE') OR has_any_column_privilege(c.oid, 'UPDATE'))::int AS writable,
           has_table_privilege('audit_entries', 'INSERT') AND has_table_privilege('audit_entries', 'SELECT') AS readable,
           bool_or(pg_has_role(c.relowner, 'USAGE')) AS owned
         FROM pg_class c WHERE c.oid = 'audit_entries'::regclass
           OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'audit_entries'::regclass)`,
      )
      const { tables = 0, writable = 0, readable = false, owned = true } = row ?? {}
      return {
        state: failsIf(tables === 0 || writable > 0 || owned || !readable),
        numbers: { tables, writable, owned: owned ? 1 : 0, unwritten: readable ? 0 : 1 },
      }
    },
  },
  {
    line: 'storage_limitation',
    name: 'audit.oldest',
    page: '/admin/audit',
    async ask(query, now) {
      const [row] = await query<{ oldest: Date | null }>(
        'SELECT at AS oldest FROM audit_entries ORDER BY at, id LIMIT 1',
      )
      const oldest = row?.oldest ?? null
      // Reads end at 90 days to the millisecond. The row itself is deleted after a write, up to a minute later.
      const limit = oldestRead(now).getTime() - 2 * hour
      return { state: failsIf(oldest !== null && oldest.getTime() < limit), times: { oldest } }
    },
  },
]
