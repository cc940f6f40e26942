import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { unloggedDeletions } from './repository.ts'

/** Days of the audit log that are compared. */
const compared = 30

const erasing = '^system:(erasure\\.|admin\\.replay|projects\\.close)'

/** Checks that the deletion log has a row for each deletion of personal content, by any actor, operation or job. */
export const deletionCheck = (operations: readonly OperationShape[]): EvidenceCheck => ({
  line: 'audit_of_deletions',
  name: 'deletions.logged',
  page: '/admin/audit?action=delete',
  async ask(query, now) {
    const undeclared = operations.filter(
      ({ audit, deletes }) => 'action' in audit && audit.action === 'delete' && deletes === undefined,
    )
    const counted = operations.flatMap(({ id, deletes }) =>
      deletes && 'counts' in deletes ? [{ id, counts: deletes.counts }] : [],
    )
    const rows = await unloggedDeletions(query, {
      operations: counted.map(({ id }) => id),
      counts: counted.map(({ counts }) => counts),
      excluded: erasing,
      from: new Date(now.getTime() - compared * 86_400_000),
    })
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
