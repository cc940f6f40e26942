import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'

/** Deltas that a sibling has not fetched expire after 7 days. */
export const cladesEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'clades.unfetched',
    "SELECT expires_at AS ends FROM clade_deltas WHERE state = 'pending' AND delivered_at IS NULL",
  ),
]
