import { statement } from '#lib/stores/postgres/statement.ts'

/** Counts unconfirmed requests since a time that have not expired: all, and those of one network. */
export const countUnconfirmed = statement('privacy.count-unconfirmed', {
  takes: { network: 'text', now: 'timestamptz', since: 'timestamptz' },
  returns: { all: 'int4', network: 'int4' },
  sql: `SELECT count(*)::int4 AS all, count(*) FILTER (WHERE network_key = $network)::int4 AS network
    FROM unconfirmed_requests WHERE used_at IS NULL AND expires_at > $now AND created_at > $since`,
})

/** Counts the other requests for whose address an email was sent since this time. */
export const countEmailsToAddress = statement('privacy.count-form-emails', {
  takes: { id: 'text', address: 'text', network: 'text', since: 'timestamptz' },
  returns: { all: 'int4', own: 'int4' },
  sql: `SELECT count(*)::int4 AS all, count(*) FILTER (WHERE network_key = $network)::int4 AS own FROM unconfirmed_requests
    WHERE address_key = $address AND id <> $id AND emailed_at > $since`,
})

/** Deletes the texts of the admins about requests from the form that were closed before this time and are not connected. */
export const deleteAnswers = statement('privacy.delete-answers', {
  takes: { before: 'timestamptz' },
  returns: 'count',
  sql: `UPDATE privacy_request_events SET note = NULL WHERE note IS NOT NULL AND request_id IN (
    SELECT id FROM privacy_requests WHERE subject_kind = 'requester' AND closed_at < $before)`,
})

/** Forgets the addresses of requests from the form that were closed before this time. */
export const deleteAddressKeys = statement('privacy.delete-address-keys', {
  takes: { before: 'timestamptz' },
  returns: 'count',
  sql: 'UPDATE privacy_requests SET address_key = NULL WHERE address_key IS NOT NULL AND closed_at < $before',
})

/** Requests from the form whose address is sealed. */
export const addressedRequests = statement('privacy.addressed-requests', {
  takes: {},
  returns: { id: 'text', contact: 'bytea!' },
  sql: `SELECT id, contact FROM privacy_requests WHERE address_key IS NOT NULL AND contact IS NOT NULL`,
})
/** Replaces the hashes of addresses, and of subjects if given, and deletes the hashes of requests without an address. */
export const storeAddressKeys = statement('privacy.store-address-keys', {
  takes: { ids: 'text[]', addresses: 'text[]', subjects: 'text[]' },
  returns: 'count',
  sql: `UPDATE privacy_requests q SET address_key = hashed.address,
      subject_key = CASE WHEN q.subject_kind = 'requester' THEN coalesce(hashed.subject, q.subject_key) ELSE q.subject_key END
    FROM privacy_requests p LEFT JOIN unnest($ids, $addresses, $subjects) AS hashed (id, address, subject) ON hashed.id = p.id
    WHERE p.id = q.id AND q.address_key IS NOT NULL`,
})

/** Unconfirmed requests with their sealed content. */
export const sealedFormContents = statement('privacy.sealed-forms', {
  takes: {},
  returns: { id: 'text', content: 'bytea!' },
  sql: 'SELECT id, content FROM unconfirmed_requests WHERE content IS NOT NULL',
})
export const storeFormKeys = statement('privacy.store-form-keys', {
  takes: { ids: 'text[]', addresses: 'text[]' },
  returns: 'count',
  sql: `UPDATE unconfirmed_requests SET address_key = hashed.address
    FROM unnest($ids, $addresses) AS hashed (id, address) WHERE unconfirmed_requests.id = hashed.id`,
})

/** Unconfirmed requests for these addresses. */
export const unconfirmedOf = statement('privacy.unconfirmed-of', {
  takes: { addresses: 'text[]' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM unconfirmed_requests WHERE address_key = ANY($addresses) ORDER BY id',
})
export const deleteUnconfirmed = statement('privacy.delete-unconfirmed', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: 'DELETE FROM unconfirmed_requests WHERE id = ANY($ids)',
})
export const countRemainingForms = statement('privacy.remaining-forms', {
  takes: { items: 'text[]' },
  returns: { n: 'int4' },
  sql: 'SELECT count(*)::int4 AS n FROM unconfirmed_requests WHERE id = ANY($items)',
})
/** Unconfirmed requests for an address: how many, and since when. */
export const inventoryOfUnconfirmed = statement('privacy.inventory-unconfirmed', {
  takes: { addresses: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  sql: 'SELECT count(*)::int4 AS n, min(created_at) AS since FROM unconfirmed_requests WHERE address_key = ANY($addresses)',
})
