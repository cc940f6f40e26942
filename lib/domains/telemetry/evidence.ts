import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'

/** While a key exists, its events can be linked to a person. */
export const telemetryEvidence = (): EvidenceCheck[] => [
  endsInTime('telemetry.keys', 'SELECT expires_at AS ends FROM telemetry_keys'),
]
