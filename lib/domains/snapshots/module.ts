import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { type SnapshotSourcePorts, snapshotDataSources, snapshotExporters } from './personal-data.ts'
import type { SnapshotPorts } from './ports.ts'
import { snapshotsService } from './service.ts'

export const snapshotsData = (deps: SnapshotSourcePorts): PersonalData => ({
  dataSources: snapshotDataSources(deps),
  exporters: snapshotExporters(deps.db),
})

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

/** Sealed snapshots of agents. */
export function snapshotsModule(deps: SnapshotPorts) {
  const { useCases, jobs } = snapshotsService(deps)
  return { useCases: { snapshots: useCases }, jobs, checks: snapshotsEvidence() }
}
