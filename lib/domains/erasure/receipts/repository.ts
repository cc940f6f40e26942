import { statement } from '#lib/stores/postgres/statement.ts'

/** The receipt of an erased id, if one of `owners` owned it. */
export const receiptIdOf = statement('erasure.receipt-of', {
  takes: { deletedId: 'text', owners: 'text[]' },
  returns: { receipt_id: 'text' },
  isPrepared: true,
  sql: `SELECT e.receipt_id FROM erased_ids i JOIN erasures e ON e.receipt_id = i.receipt_id
    WHERE i.id = $deletedId AND e.former_owner = ANY($owners)`,
})

/** A list counts up to this number. */
const maxCounted = 1_001
/**
 * Receipts of erasures by these agents, of these runs, and of parts of projects that these actors erased. A receipt's id
 * grants read access: the query must never return the receipt of another person.
 */
const ownReceipts = `former_owner = ANY($agents) OR receipt_id IN (
    SELECT receipt_id FROM erasure_runs WHERE id = ANY($runs) OR (part_kind IS NOT NULL AND requested_by = ANY($actors)))`
const ownerTakes = { agents: 'text[]', runs: 'text[]', actors: 'text[]' } as const

/** Own receipts, newest first, after the cursor. */
export const ownReceiptPage = statement('erasure.own-receipts', {
  takes: { ...ownerTakes, afterAt: 'timestamptz?', afterId: 'text?', limit: 'int4' },
  returns: {
    receipt_id: 'text',
    deleted_id: 'text',
    deleted_at: 'timestamptz',
    signed_at: 'timestamptz?',
    subject_kind: 'text?',
    part_kind: 'text?',
  },
  isPrepared: true,
  sql: `SELECT receipt_id, deleted_id, deleted_at, signed_at, receipt->>'subject_kind' AS subject_kind, receipt->>'part_kind' AS part_kind
    FROM erasures WHERE (${ownReceipts}) AND ($afterAt IS NULL OR (deleted_at, receipt_id) < ($afterAt, $afterId))
    ORDER BY deleted_at DESC, receipt_id DESC LIMIT $limit`,
})

/** The number of own receipts, at most 1,001. */
export const ownReceiptCount = statement('erasure.own-receipt-count', {
  takes: ownerTakes,
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM (SELECT FROM erasures WHERE ${ownReceipts} LIMIT ${maxCounted}) AS counted`,
})

/** The state of the run that will sign a receipt. */
export const runOfReceipt = statement('erasure.run-of-receipt', {
  takes: { receiptId: 'text' },
  returns: { state: 'text', is_fenced: 'bool' },
  isPrepared: true,
  sql: 'SELECT state::text AS state, fenced_at IS NOT NULL AS is_fenced FROM erasure_runs WHERE receipt_id = $receiptId',
})

/** Makes processes that need a signing key take turns, until the end of the transaction. */
export const lockSigningKeys = statement('erasure.lock-signing-keys', {
  takes: {},
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('signing-keys'))::text AS lock`,
})

/** All signing keys, newest first. */
export const signingKeyRows = statement('erasure.signing-keys', {
  takes: {},
  returns: { kid: 'text', sealed_private: 'bytea', created_at: 'timestamptz', retired_at: 'timestamptz?' },
  isPrepared: true,
  sql: 'SELECT kid, sealed_private, created_at, retired_at FROM signing_keys ORDER BY created_at DESC, kid DESC',
})

/**
 * The receipt with this id, which everybody who knows it may read; and the receipt of this erased id, for the agents that owned it, or with
 * `everyone`.
 */
export const foundReceipts = statement('erasure.found-receipts', {
  takes: { id: 'text', agents: 'text[]', everyone: 'bool' },
  returns: { id: 'text', deletedId: 'text' },
  isPrepared: true,
  sql: `SELECT receipt_id AS id, deleted_id AS "deletedId" FROM erasures
    WHERE receipt_id = $id OR (receipt_id = (SELECT i.receipt_id FROM erased_ids i WHERE i.id = $id)
      AND ($everyone OR former_owner = ANY($agents)))`,
})
