import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { grimoireJobs } from './jobs.ts'
import { entryDataSource, grimoireExporters, keyringDataSource } from './personal-data.ts'
import { type GrimoirePorts, grimoireService } from './service.ts'

export const grimoireData = (db: Database, key: () => Uint8Array): PersonalData => ({
  // The keyring is erased after everything that is sealed with it.
  dataSources: [entryDataSource(db), keyringDataSource(db)],
  exporters: grimoireExporters(db, key),
})

/** Entries expire at their own time, or after the number of days that the owner set. Entries under legal hold are not overdue. */
export const grimoireEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'grimoire.ended',
    `SELECT least(g.valid_until, g.created_at + make_interval(days => a.grimoire_days)) AS ends
     FROM grimoire_entries g JOIN agent_states a ON a.id = g.agent_id
     WHERE g.agent_id NOT IN (${agentsUnderLegalHold('$1')})`,
  ),
]

/** Sealed entries of agents, and their keyrings. */
export const grimoireModule = (deps: GrimoirePorts) => ({
  useCases: { grimoire: grimoireService(deps) },
  jobs: grimoireJobs(),
  checks: grimoireEvidence(),
})
