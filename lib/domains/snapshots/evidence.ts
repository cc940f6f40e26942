import { type Check, endsInTime } from '#lib/kernel/evidence.ts'

/** A row is the last of a snapshot to go, after its key and its object: while it is there, something of it may be. */
export const snapshotsEvidence = (): Check[] => [
  endsInTime('snapshots.ended', 'SELECT expires_at AS ends FROM snapshots'),
]
