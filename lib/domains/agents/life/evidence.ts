import { type Check, endsInTime } from '#lib/kernel/evidence.ts'

/** Heartbeats of the dead, counted by agent. */
export const lifeEvidence = (): Check[] => [
  endsInTime(
    'agents.heartbeats',
    `SELECT a.died_at + interval '24 hours' AS ends FROM agents a
     WHERE a.died_at IS NOT NULL AND EXISTS (SELECT FROM heartbeats h WHERE h.agent_id = a.id)`,
  ),
]
