import { type Check, endsInTime } from '#lib/kernel/evidence.ts'

/** By a key that stands, somebody could still say whose events were. */
export const telemetryEvidence = (): Check[] => [
  endsInTime('telemetry.keys', 'SELECT expires_at AS ends FROM telemetry_keys'),
]
