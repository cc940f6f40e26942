import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'

/** Days of the audit log that are compared. */
const compared = 30

/**
 * Deletions in the audit log without a row in the deletion log. An operation needs a row with its time, resource and
 * count ($1 operations, $2 counts). A job needs a row with its time, by the job or about the resource. Excluded:
 * erasures, whose rows have the requester's id and which another check compares, and tokens, which contain no content
 * ($3). $4: start time.
 */
const compare = `SELECT d.kind, count(*)::int AS deletions, count(*) FILTER (WHERE NOT d.is_logged)::int AS missing FROM (
    SELECT k.operation AS kind, EXISTS (SELECT FROM deletion_records l WHERE l."timestamp" = a.at
      AND l.scope->>a.resource_type = a.resource_id AND l.results ? k.counts) AS is_logged
    FROM audited_deletions a JOIN unnest($1::text[], $2::text[]) AS k(operation, counts) ON a.details->>'operation' = k.operation
    WHERE a.at >= $4 AND coalesce(a.details->>'count', '1') <> '0'
    UNION ALL
    SELECT a.agent_id || ' ' || a.resource_type, EXISTS (SELECT FROM deletion_records l WHERE l."timestamp" = a.at
      AND (l.requested_by = a.agent_id OR EXISTS (SELECT FROM jsonb_each_text(l.scope) AS s WHERE s.value = a.resource_id)))
    FROM audited_deletions a
    WHERE a.at >= $4 AND starts_with(a.agent_id, 'system:') AND a.agent_id !~ $3 AND a.resource_type <> 'token'
  ) AS d GROUP BY d.kind`
const erasing = '^system:(erasure\\.|admin\\.replay|projects\\.close)'

/** Checks that the deletion log has a row for each deletion of personal content, by any actor, operation or job. */
export const deletionCheck = (operations: readonly OperationShape[]): EvidenceCheck => ({
  line: 'audit_of_deletions',
  name: 'deletions.logged',
  page: '/admin/audit',
  async ask(query, now) {
    const undeclared = operations.filter(
      ({ audit, deletes }) => 'action' in audit && audit.action === 'delete' && deletes === undefined,
    )
    const counted = operations.flatMap(({ id, deletes }) =>
      deletes && 'counts' in deletes ? [{ id, counts: deletes.counts }] : [],
    )
    const rows = await query<{ kind: string; deletions: number; missing: number }>(compare, [
      counted.map(({ id }) => id),
      counted.map(({ counts }) => counts),
      erasing,
      new Date(now.getTime() - compared * 86_400_000),
    ])
    const sum = (of: 'deletions' | 'missing') => rows.reduce((total, row) => total + row[of], 0)
    const faulty = [...undeclared.map(({ id }) => id), ...rows.filter((row) => row.missing > 0).map(({ kind }) => kind)]
    return {
      state: failsIf(faulty.length > 0),
      numbers: {
        kinds: counted.length,
        deletions: sum('deletions'),
        missing: sum('missing'),
        undeclared: undeclared.length,
      },
      facts: { kinds: faulty.sort().slice(0, 10).join(', ') },
    }
  },
})
