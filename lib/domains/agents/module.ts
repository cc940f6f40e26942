import { agentLifeDataSources } from '#lib/domains/agents/life/data-sources.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type AgentSourcePorts, agentDataSource } from './data-source.ts'
import { agentsEvidence } from './evidence.ts'
import { agentExporters } from './exporters.ts'
import { type AgentJobPorts, agentsJobs } from './jobs.ts'
import { lifeEvidence } from './life/evidence.ts'
import { lifeExporters } from './life/exporters.ts'
import { lifeJobs } from './life/jobs.ts'
import type { AgentPorts } from './ports.ts'
import { retainedAgentRecords } from './retained-records.ts'
import { agentsService } from './service.ts'

export interface AgentsDeps extends AgentPorts, AgentJobPorts {
  db: Database
}

export const agentsData = ({ db, ...ports }: AgentSourcePorts & { db: Database }): PersonalData => ({
  dataSources: [...agentLifeDataSources(db), agentDataSource(db, ports)],
  exporters: [...agentExporters(db), ...lifeExporters(db)],
  retainedRecords: retainedAgentRecords(db),
})

/** Agents with their documents, heartbeats and chain references. */
export const agentsModule = ({ db, ...deps }: AgentsDeps) => ({
  useCases: { agents: agentsService(db, deps) },
  jobs: [...agentsJobs(deps), ...lifeJobs(deps)],
  checks: [...agentsEvidence(deps.registration.lawfulBasis), ...lifeEvidence()],
})
