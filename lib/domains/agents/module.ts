import { createHmac } from 'node:crypto'
import type { Env } from '#lib/config/env.ts'
import { type EvidenceCheck, endsInTime, failsIf } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { agentsJobs, lifeJobs } from './jobs.ts'
import { documentKeys } from './life/document-seals.ts'
import { documentRestorer, restoreSettings } from './life/service.ts'
import {
  agentDataSource,
  agentExporters,
  agentLifeDataSources,
  lifeExporters,
  retainedAgentRecords,
} from './personal-data.ts'
import type { AgentPorts } from './ports.ts'
import { countLawfulBases } from './repository.ts'
import { type LawfulBasis, noticeVersion } from './rules.ts'
import { agentsService } from './service.ts'

export const agentsData = ({ db, keyFor }: Pick<AgentsModuleParts, 'db' | 'keyFor'>): PersonalData => ({
  dataSources: [...agentLifeDataSources(db), agentDataSource(db)],
  exporters: [...agentExporters(db), ...lifeExporters(db, documentKeys(keyFor))],
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

/** What agents take from the platform by name, and what other modules give them. */
interface AgentsModuleParts extends Pick<AgentPorts, 'accounts' | 'ownerFound' | 'regions' | 'strict' | 'tokens'> {
  db: Database
  env: Pick<Env, 'KP_EXPLICIT_CONSENT' | 'KP_GRACE_TOKENS' | 'KP_LAWFUL_BASIS' | 'KP_REGISTRATION'>
  keyFor(purpose: string): () => Uint8Array
  origin: string
  networks: { customerNetworkOf(address: string): string }
  suppressed: { among: AgentPorts['isSuppressed'] }
}

/** Agents with their documents, heartbeats and chain references. */
export function agentsModule({ env, keyFor, networks, origin, suppressed, ...parts }: AgentsModuleParts) {
  const networkKey = keyFor('networks of registrations')
  const deps = {
    ...parts,
    documentKeys: documentKeys(keyFor),
    graceTokens: env.KP_GRACE_TOKENS,
    isSuppressed: suppressed.among,
    registration: {
      mode: env.KP_REGISTRATION,
      explicitConsent: env.KP_EXPLICIT_CONSENT,
      lawfulBasis: env.KP_LAWFUL_BASIS,
      notice: { version: noticeVersion, url: `${origin}/privacy` },
    },
    networkMark: (address: string) =>
      Uint8Array.from(createHmac('sha256', networkKey()).update(networks.customerNetworkOf(address)).digest()),
  }
  return {
    useCases: { agents: agentsService(parts.db, deps) },
    jobs: [...agentsJobs(), ...lifeJobs(deps.documentKeys)],
    checks: [...agentsEvidence(env.KP_LAWFUL_BASIS), ...lifeEvidence()],
    /** What snapshots contain and restore of an agent. */
    state: {
      exporters: lifeExporters(parts.db, deps.documentKeys),
      restorer: documentRestorer({ strict: parts.strict, keys: deps.documentKeys }),
      restoreSettings,
    },
  }
}
