import type { LedgerHash } from '#lib/stores/ledger/ledger.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'

/** Adds hashes of a run to the suppression list. `hash` is hexadecimal. */
export const insertSuppressions = statement('erasure.insert-suppressions', {
  takes: { hashes: typed<readonly LedgerHash[]>('jsonb'), since: 'timestamptz', runId: 'text' },
  returns: 'count',
  sql: `INSERT INTO suppressions (hash, key_id, kind, since, run_id)
    SELECT decode(h.hash, 'hex'), h."keyId", h.kind, $since, $runId
    FROM jsonb_to_recordset($hashes) AS h(hash text, "keyId" text, kind text)
    ON CONFLICT (hash) DO UPDATE SET run_id = excluded.run_id`,
})

/** Those of the hexadecimal hashes that are on the suppression list. */
export const suppressedHashes = statement('erasure.suppressed-hashes', {
  takes: { kind: 'text', hashes: 'text[]' },
  returns: { hash: 'text' },
  isPrepared: true,
  sql: `SELECT encode(hash, 'hex') AS hash FROM suppressions
    WHERE kind = $kind AND hash IN (SELECT decode(h, 'hex') FROM unnest($hashes) AS h)`,
})

/** The hashes of a run in the form that the ledger stores. */
export const suppressionsOfRun = statement('erasure.suppressions-of-run', {
  takes: { runId: 'text' },
  returns: { kind: typed<LedgerHash['kind']>('text'), hash: 'text', keyId: 'text' },
  sql: `SELECT kind, encode(hash, 'hex') AS hash, key_id AS "keyId" FROM suppressions WHERE run_id = $runId ORDER BY kind, hash`,
})

/** Returns a row when one of the hashes belongs to a run that recorded no organization of its agents. */
export const suppressionsWithoutOrganisation = statement('erasure.suppressions-without-organisation', {
  takes: { hashes: 'bytea[]' },
  returns: { run_id: 'text' },
  sql: `SELECT s.run_id FROM suppressions s WHERE s.hash = ANY($hashes)
    AND NOT EXISTS (SELECT FROM suppressions m WHERE m.run_id = s.run_id AND m.kind = 'member') LIMIT 1`,
})

/** All suppression keys, newest first. */
export const suppressionKeyRows = statement('erasure.suppression-keys', {
  takes: {},
  returns: { id: 'text', sealed_key: 'bytea', created_at: 'timestamptz', retired_at: 'timestamptz?' },
  isPrepared: true,
  sql: 'SELECT id, sealed_key, created_at, retired_at FROM suppression_keys ORDER BY created_at DESC, id DESC',
})

/** Makes processes that need a suppression key take turns, until the end of the transaction. */
export const lockSuppressionKeys = statement('erasure.lock-suppression-keys', {
  takes: {},
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('suppression-keys'))::text AS lock`,
})

/** Those of the ids whose erased units or skills one of `owners` owned. */
export const erasedIdsOf = statement('erasure.erased-ids-of', {
  takes: { ids: 'text[]', owners: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT deleted_id AS id FROM erasures WHERE deleted_id = ANY($ids) AND former_owner = ANY($owners)',
})

/** The list of tombstones counts up to this number. */
const maxCounted = 1_001
const due = 'FROM erased_ids WHERE was_public AND (erased_at, id) > ($afterAt, $afterId) AND erased_at <= $settled'

/** Erased ids that others could copy, oldest first, after the cursor. */
export const tombstonePage = statement('erasure.tombstones', {
  takes: { afterAt: 'timestamptz', afterId: 'text', settled: 'timestamptz', limit: 'int4' },
  returns: { id: 'text', erased_at: 'timestamptz' },
  isPrepared: true,
  sql: `SELECT id, erased_at ${due} ORDER BY erased_at, id LIMIT $limit`,
})

/** The number of erased ids after the cursor, at most 1,001. */
export const tombstoneCount = statement('erasure.tombstone-count', {
  takes: { afterAt: 'timestamptz', afterId: 'text', settled: 'timestamptz' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM (SELECT ${due} LIMIT ${maxCounted}) AS rest`,
})
