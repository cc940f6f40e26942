import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import { snapshotParts } from './making.ts'
import { type SnapshotSourcePorts, snapshotDataSources, snapshotExporters } from './personal-data.ts'
import type { Restorer, SnapshotPorts } from './ports.ts'
import { snapshotsService } from './service.ts'

export const snapshotsData = ({
  db,
  known,
  snapshotStorage,
}: {
  db: Database
  known: { missing(port: 'objects'): MissingStoreData }
  snapshotStorage: Omit<SnapshotSourcePorts, 'whatIsMissing'>
}): PersonalData => ({
  dataSources: snapshotDataSources({ ...snapshotStorage, whatIsMissing: known.missing('objects') }),
  exporters: snapshotExporters(db),
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

/** How a domain exports and restores the state of agents. */
interface StoredState {
  exporters: readonly Exporter[]
  restorer: Restorer
}
/** Sealed snapshots of agents. */
export function snapshotsModule({
  snapshotStorage,
  ownAgents,
  stored,
  ...deps
}: Omit<SnapshotPorts, 'agents' | 'db' | 'keys' | 'objects' | 'parts' | 'restorers' | 'restoreSettings'> & {
  snapshotStorage: Pick<SnapshotPorts, 'db' | 'keys' | 'objects'>
  ownAgents: SnapshotPorts['agents']
  /** The data that a snapshot contains: what agents store, and what their grimoires store. */
  stored: { agents: StoredState & Pick<SnapshotPorts, 'restoreSettings'>; grimoires: StoredState }
}) {
  const { useCases, jobs } = snapshotsService({
    ...deps,
    ...snapshotStorage,
    agents: ownAgents,
    parts: snapshotParts([...stored.agents.exporters, ...stored.grimoires.exporters]),
    restorers: [stored.agents.restorer, stored.grimoires.restorer],
    restoreSettings: stored.agents.restoreSettings,
  })
  return { useCases: { snapshots: useCases }, jobs, checks: snapshotsEvidence() }
}
