import { type Check, endsInTime } from '#lib/kernel/evidence.ts'
import { heldAgents } from '#lib/stores/postgres/held-agents.ts'

/** A row is the last of a snapshot to go, after its key and its object: while it is there, something of it may be. What a hold keeps is not late. */
export const snapshotsEvidence = (): Check[] => [
  endsInTime(
    'snapshots.ended',
    `SELECT expires_at AS ends FROM snapshots WHERE kind = 'on_demand' OR agent_id NOT IN (${heldAgents('$1')})`,
  ),
]
