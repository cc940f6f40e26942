/** Events with a translation; any other event is shown with its own description. */
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
