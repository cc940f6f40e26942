import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { cladeDataSources } from './data-sources.ts'
import { cladesEvidence } from './evidence.ts'
import { cladeExporters } from './exporters.ts'
import type { CladePorts } from './ports.ts'
import { type CladeJobPorts, cladeJobs } from './recall/jobs.ts'
import { cladesService } from './service.ts'

export const cladesData = (db: Database, key: () => Uint8Array): PersonalData => ({
  dataSources: cladeDataSources(db),
  exporters: cladeExporters(db, key),
})

/** Sharing between related agents of one owner. */
export const cladesModule = (deps: CladePorts & CladeJobPorts) => ({
  useCases: { clades: cladesService(deps) },
  jobs: cladeJobs(deps),
  checks: cladesEvidence(),
})
