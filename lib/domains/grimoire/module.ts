import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { entryDataSource, keyringDataSource } from './data-sources.ts'
import { grimoireEvidence } from './evidence.ts'
import { grimoireExporters } from './exporters.ts'
import { type GrimoireJobPorts, grimoireJobs } from './jobs.ts'
import type { GrimoirePorts } from './ports.ts'
import { grimoireService } from './service.ts'

export const grimoireData = (db: Database, key: () => Uint8Array): PersonalData => ({
  // The keyring is erased after everything that is sealed with it.
  dataSources: [entryDataSource(db), keyringDataSource(db)],
  exporters: grimoireExporters(db, key),
})

/** Sealed entries of agents, and their keyrings. */
export const grimoireModule = (deps: GrimoirePorts & GrimoireJobPorts) => ({
  useCases: { grimoire: grimoireService(deps) },
  jobs: grimoireJobs(deps),
  checks: grimoireEvidence(),
})
