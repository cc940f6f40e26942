import type { PersonalData } from '#lib/kernel/module.ts'
import { type SnapshotSourcePorts, snapshotDataSources } from './data-sources.ts'
import { snapshotsEvidence } from './evidence.ts'
import { snapshotExporters } from './exporters.ts'
import type { SnapshotPorts } from './ports.ts'
import { snapshotsService } from './service.ts'

export const snapshotsData = (deps: SnapshotSourcePorts): PersonalData => ({
  dataSources: snapshotDataSources(deps),
  exporters: snapshotExporters(deps.db),
})

/** Sealed snapshots of agents. */
export function snapshotsModule(deps: SnapshotPorts) {
  const { useCases, jobs } = snapshotsService(deps)
  return { useCases: { snapshots: useCases }, jobs, checks: snapshotsEvidence() }
}
