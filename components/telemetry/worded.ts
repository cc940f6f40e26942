/** Events that have words here; any other is told in its own. */
export const worded = [
  'contribution',
  'search',
  'export_prepared',
  'request_filed',
  'erasure_completed',
  'entry_written',
  'exchange_logged',
  'snapshot_made',
  'share_sent',
] as const
