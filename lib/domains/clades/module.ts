import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { cladeDataSources, cladeExporters } from './personal-data.ts'
import type { CladePorts } from './ports.ts'
import { cladeJobs } from './recall.ts'
import { cladesService } from './service.ts'

export const cladesData = (db: Database, key: () => Uint8Array): PersonalData => ({
  dataSources: cladeDataSources(db),
  exporters: cladeExporters(db, key),
})

/** Deltas that a sibling has not fetched expire after 7 days. */
const cladesEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'clades.unfetched',
    "SELECT expires_at AS ends FROM clade_deltas WHERE state = 'pending' AND delivered_at IS NULL",
  ),
]

/** Sharing between related agents of one owner. */
export const cladesModule = (deps: CladePorts) => ({
  useCases: { clades: cladesService(deps) },
  jobs: cladeJobs(),
  checks: cladesEvidence(),
})
