import { statement } from '#lib/stores/postgres/statement.ts'

/** The erasure ledgers that were used and that no admin declared empty, and where they were used. */
export const usedLedgers = statement('stores.used-ledgers', {
  takes: {},
  returns: { address: 'text', shown: 'text' },
  sql: "SELECT address, shown FROM known_stores WHERE port = 'ledger' AND retired_at IS NULL",
})

/** Records that every ledger except this one is lost. */
export const retireOtherLedgers = statement('stores.retire-other-ledgers', {
  takes: { own: 'text', now: 'timestamptz', by: 'text', said: 'text' },
  returns: 'count',
  sql: `UPDATE known_stores SET retired_at = $now, retired_by = $by, statement = $said
    WHERE port = 'ledger' AND retired_at IS NULL AND address <> $own`,
})

/** Another store that was used at a place (`shown`, or anywhere), after `since` if given, and that no admin declared empty. */
export const otherStore = statement('stores.other', {
  takes: { port: 'text', shown: 'text?', own: 'text[]', provider: 'text', since: 'timestamptz?' },
  returns: { id: 'text' },
  sql: `SELECT id FROM known_stores WHERE port = $port AND ($shown IS NULL OR shown = $shown) AND retired_at IS NULL
    AND NOT (address = ANY($own)) AND provider = $provider AND ($since IS NULL OR last_seen > $since) LIMIT 1`,
})

/** Replaces the address of a store, unless another store has the new one. */
export const renameStore = statement('stores.rename', {
  takes: { port: 'text', former: 'text', address: 'text' },
  returns: 'count',
  sql: `UPDATE known_stores SET address = $address WHERE port = $port AND address = $former
    AND NOT EXISTS (SELECT FROM known_stores AS k WHERE k.port = $port AND k.address = $address)`,
})

/** Records the use of a store. A use withdraws the statement that the store is empty. */
export const recordUse = statement('stores.record-use', {
  takes: { id: 'text', port: 'text', provider: 'text', address: 'text', shown: 'text', now: 'timestamptz' },
  returns: 'count',
  sql: `INSERT INTO known_stores (id, port, provider, address, shown, first_seen, last_seen)
    VALUES ($id, $port, $provider, $address, $shown, $now, $now)
    ON CONFLICT (port, address) DO UPDATE SET shown = excluded.shown, last_seen = GREATEST(known_stores.last_seen, excluded.last_seen),
      retired_at = NULL, retired_by = NULL, statement = NULL`,
})
