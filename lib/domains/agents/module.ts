import { type EvidenceCheck, endsInTime, failsIf } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { agentsJobs, lifeJobs } from './jobs.ts'
import type { DocumentKeys } from './life/document-seals.ts'
import { agentLifeDataSources, lifeExporters } from './life/personal-data.ts'
import { agentDataSource, agentExporters, retainedAgentRecords } from './personal-data.ts'
import type { AgentPorts } from './ports.ts'
import { countLawfulBases } from './repository.ts'
import type { LawfulBasis } from './rules.ts'
import { agentsService } from './service.ts'

export const agentsData = (db: Database, documentKeys: DocumentKeys): PersonalData => ({
  dataSources: [...agentLifeDataSources(db), agentDataSource(db)],
  exporters: [...agentExporters(db), ...lifeExporters(db, documentKeys)],
  retainedRecords: retainedAgentRecords(db),
})

/** Heartbeats of retired agents, counted by agent, and expired documents; records under a legal hold are not overdue. */
export const lifeEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'agents.heartbeats',
    `SELECT a.died_at + interval '24 hours' AS ends FROM agents a
     WHERE a.died_at IS NOT NULL AND a.id NOT IN (${agentsUnderLegalHold('$1')}) AND EXISTS (SELECT FROM heartbeats h WHERE h.agent_id = a.id)`,
  ),
  endsInTime(
    'agents.documents',
    `SELECT d.updated_at + make_interval(days => a.document_days) AS ends FROM agents a JOIN agent_documents d ON d.agent_id = a.id
     WHERE a.document_days IS NOT NULL AND a.id NOT IN (${agentsUnderLegalHold('$1')})`,
  ),
]

/**
 * Lawful basis (GDPR art. 6, 7): each agent has one on record, with consent where the basis is consent. Agents that withdrew it are
 * restricted.
 */
const agentsEvidence = (configured: LawfulBasis): EvidenceCheck[] => [
  {
    line: 'lawful_basis',
    name: 'agents.basis',
    page: null,
    async ask(query) {
      const [counts] = await countLawfulBases(query, {})
      const { agents = 0, without = 0, unconsented = 0, withdrawn = 0, unrestricted = 0 } = counts ?? {}
      return {
        state: failsIf(without + unconsented + unrestricted > 0),
        numbers: { agents, without, unconsented, withdrawn, unrestricted },
        facts: { basis: configured },
      }
    },
  },
]

/** Agents with their documents, heartbeats and chain references. */
export const agentsModule = ({ db, ...deps }: AgentPorts & { db: Database }) => ({
  useCases: { agents: agentsService(db, deps) },
  jobs: [...agentsJobs(), ...lifeJobs(deps.documentKeys)],
  checks: [...agentsEvidence(deps.registration.lawfulBasis), ...lifeEvidence()],
})
