import { statement } from '#lib/stores/postgres/statement.ts'

/** Organizations that have people, in order of their ids, after this id. */
export const organisationsWithPeople = statement('organisations.with-people', {
  takes: { after: 'text', limit: 'int4' },
  returns: { id: 'text' },
  sql: `SELECT id FROM organisations o WHERE id > $after AND EXISTS (SELECT FROM accounts a WHERE a.organisation_id = o.id)
    ORDER BY id LIMIT $limit`,
})

/** Organizations with people, by name, and how many people each has. `pattern` limits them by name. */
export const listOrganisationRows = statement('organisations.list', {
  takes: { pattern: 'text?' },
  returns: { organisation_id: 'text', name: 'text', people: 'int4', namespaces: 'text[]!' },
  isPrepared: true,
  sql: `SELECT o.id AS organisation_id, o.name, count(*)::int AS people, o.store_namespaces AS namespaces
    FROM organisations o JOIN accounts a ON a.organisation_id = o.id
    WHERE $pattern IS NULL OR o.name ILIKE $pattern GROUP BY o.id ORDER BY lower(o.name), o.id LIMIT 100`,
})

const isEmpty = `NOT EXISTS (SELECT FROM agent_names a WHERE a.organisation_id = o.id)
  AND NOT EXISTS (SELECT FROM accounts p WHERE p.organisation_id = o.id)`

/** Counts the organizations with one of these names that have neither people nor agents. */
export const countEmptyNamed = statement('organisations.count-empty', {
  takes: { names: 'text[]' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM organisations o WHERE o.name = ANY($names) AND ${isEmpty}`,
})

/** Deletes the organization if it has neither people nor agents. */
export const deleteIfEmpty = statement('organisations.delete-if-empty', {
  takes: { id: 'text' },
  returns: 'count',
  sql: `DELETE FROM organisations o WHERE o.id = $id AND ${isEmpty}`,
})

/** The prefixes of ids in connected stores that an organization may use. */
export const namespacesOf = statement('organisations.namespaces', {
  takes: { id: 'text?' },
  returns: { id: 'text', namespaces: 'text[]', is_any: 'bool' },
  sql: 'SELECT id, namespaces, is_any FROM organisation_namespaces WHERE id = $id',
})

/** Serializes assignments of namespaces until the end of the transaction, so that the second one sees the first. */
export const lockNamespaces = statement('organisations.lock-namespaces', {
  takes: {},
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('store-namespaces'))::text AS lock`,
})

/** Serializes invitations into an organization until the end of the transaction. */
export const lockInvitations = statement('organisations.lock-invitations', {
  takes: { id: 'text' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM organisations WHERE id = $id FOR NO KEY UPDATE',
})

/** When the newest but `skipped` invitation after `since` was made. Withdrawn invitations count. */
export const invitationBefore = statement('organisations.invitation-before', {
  takes: { id: 'text', since: 'timestamptz', skipped: 'int4' },
  returns: { at: 'timestamptz' },
  sql: `SELECT at FROM (SELECT created_at AS at FROM accounts WHERE organisation_id = $id AND created_at > $since
      UNION ALL SELECT unnest(withdrawn_invitations) FROM organisations WHERE id = $id) AS made
    WHERE at > $since ORDER BY at DESC LIMIT 1 OFFSET $skipped`,
})

/** Records when a withdrawn invitation was made, and forgets those before `since`. */
export const noteWithdrawnInvitation = statement('organisations.note-withdrawn', {
  takes: { id: 'text', since: 'timestamptz', made: 'timestamptz' },
  returns: 'count',
  sql: `UPDATE organisations SET withdrawn_invitations =
      ARRAY(SELECT t FROM unnest(withdrawn_invitations) t WHERE t > $since) || $made
    WHERE id = $id`,
})
