import { statement } from '#lib/stores/postgres/statement.ts'

/** Those of the receipt ids that neither a receipt nor a run of the database has. */
export const unknownErasures = statement('erasure.unknown-erasures', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT l.id FROM unnest($ids) AS l(id)
    WHERE NOT EXISTS (SELECT FROM erasures e WHERE e.receipt_id = l.id)
      AND NOT EXISTS (SELECT FROM erasure_runs r WHERE r.receipt_id = l.id)`,
})

/** Those of the receipt ids that have a signed receipt but no run. */
export const receiptsWithoutRun = statement('erasure.receipts-without-run', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  sql: `SELECT receipt_id AS id FROM erasures e WHERE receipt_id = ANY($ids) AND state = 'signed'
    AND NOT EXISTS (SELECT FROM erasure_runs r WHERE r.receipt_id = e.receipt_id) ORDER BY receipt_id`,
})

/** The receipts of erasures after a time; null: all. */
export const receiptsSince = statement('erasure.receipts-since', {
  takes: { since: 'timestamptz?' },
  returns: { id: 'text', is_signed: 'bool' },
  sql: `SELECT receipt_id AS id, state = 'signed' AS is_signed FROM erasures WHERE $since IS NULL OR deleted_at > $since`,
})

/** The suppression keys that were created after a time; null: all. */
export const suppressionKeysSince = statement('erasure.suppression-keys-since', {
  takes: { since: 'timestamptz?' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM suppression_keys WHERE $since IS NULL OR created_at > $since',
})

/** The receipt ids of unfinished runs. */
export const receiptsOfUnfinishedRuns = statement('erasure.receipts-of-unfinished-runs', {
  takes: {},
  returns: { id: 'text' },
  sql: `SELECT receipt_id AS id FROM erasure_runs WHERE state <> 'done'`,
})
