import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { agentsEvidence } from './evidence.ts'
import { agentExporters } from './exporters.ts'
import { type AgentHolderPorts, agentHolder } from './holders.ts'
import { type AgentJobPorts, agentsJobs } from './jobs.ts'
import { agentsKept } from './kept.ts'
import { lifeEvidence } from './life/evidence.ts'
import { lifeExporters } from './life/exporters.ts'
import { lifeHolders } from './life/holders.ts'
import { lifeJobs } from './life/jobs.ts'
import type { AgentPorts } from './ports.ts'
import { agentsService } from './service.ts'

export interface AgentsDeps extends AgentPorts, AgentJobPorts {
  db: Database
}

export const agentsData = ({ db, ...ports }: AgentHolderPorts & { db: Database }): PersonalData => ({
  dataSources: [...lifeHolders(db), agentHolder(db, ports)],
  exporters: [...agentExporters(db), ...lifeExporters(db)],
  retainedRecords: agentsKept(db),
})

/** Agents with their documents, heartbeats and chain references. */
export const agentsModule = ({ db, ...deps }: AgentsDeps) => ({
  useCases: { agents: agentsService(db, deps) },
  jobs: [...agentsJobs(deps), ...lifeJobs(deps)],
  checks: [...agentsEvidence(deps.registration.lawfulBasis), ...lifeEvidence()],
})
