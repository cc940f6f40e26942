import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'

/** Heartbeats of retired agents, counted by agent; heartbeats under a legal hold are not overdue. */
export const lifeEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'agents.heartbeats',
    `SELECT a.died_at + interval '24 hours' AS ends FROM agents a
     WHERE a.died_at IS NOT NULL AND a.id NOT IN (${agentsUnderLegalHold('$1')}) AND EXISTS (SELECT FROM heartbeats h WHERE h.agent_id = a.id)`,
  ),
]
