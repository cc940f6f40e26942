import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'

/**
 * The row of a snapshot is deleted last, after its key and its object, so an existing row means that data may exist.
 * Snapshots under legal hold are not overdue.
 */
export const snapshotsEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'snapshots.ended',
    `SELECT expires_at AS ends FROM snapshots WHERE kind = 'on_demand' OR agent_id NOT IN (${agentsUnderLegalHold('$1')})`,
  ),
]
