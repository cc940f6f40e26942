import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'

/** Entries expire at their own time, or after the number of days that the owner set. Entries under legal hold are not overdue. */
export const grimoireEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'grimoire.ended',
    `SELECT least(g.valid_until, g.created_at + make_interval(days => a.grimoire_days)) AS ends
     FROM grimoire_entries g JOIN agent_states a ON a.id = g.agent_id
     WHERE g.agent_id NOT IN (${agentsUnderLegalHold('$1')})`,
  ),
]
