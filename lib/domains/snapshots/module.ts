import type { PersonalData } from '#lib/kernel/module.ts'
import { snapshotsEvidence } from './evidence.ts'
import { snapshotExporters } from './exporters.ts'
import { type SnapshotHolderPorts, snapshotHolders } from './holders.ts'
import type { SnapshotPorts } from './ports.ts'
import { snapshotsService } from './service.ts'

export const snapshotsData = (deps: SnapshotHolderPorts): PersonalData => ({
  dataSources: snapshotHolders(deps),
  exporters: snapshotExporters(deps.db),
})

/** Sealed snapshots of agents. */
export function snapshotsModule(deps: SnapshotPorts) {
  const { offers, jobs } = snapshotsService(deps)
  return { useCases: { snapshots: offers }, jobs, checks: snapshotsEvidence() }
}
