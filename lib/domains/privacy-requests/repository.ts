import { statement, typed } from '#lib/stores/postgres/statement.ts'

/** Serializes filing for one subject until the end of the transaction, so that the second of two concurrent requests joins the first. */
export const lockSubject = statement('privacy.lock-subject', {
  takes: { subjectKey: 'text' },
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtextextended('privacy:' || $subjectKey, 0))::text AS lock`,
})

/** Locks the requests for changes, in the lock order. */
export const lockRequests = statement('privacy.lock-requests', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM privacy_requests WHERE id = ANY($ids) ORDER BY id FOR NO KEY UPDATE',
})

/** Deletes the statements and the requested changes of a request. */
export const deletePayload = statement('privacy.delete-payload', {
  takes: { id: 'text' },
  returns: 'count',
  sql: 'UPDATE privacy_requests SET payload = NULL WHERE id = $id',
})

/** `addresses`: keyed hashes of the subject's address, by which its requests from the form are found. */
const subject = { account: 'text?', agents: 'text[]', participants: 'text[]', addresses: 'text[]' } as const
const isAboutSubject =
  '(account_id = $account OR agent_id = ANY($agents) OR participant_id = ANY($participants) OR address_key = ANY($addresses))'
/** SQL condition: the request's own erasure is running, so its address is retained until the last email. */
const isBeingErased = '(run_id IS NOT NULL AND closed_at IS NULL)'

/** Requests about the subject, and requests of others that it filed or was assigned to. */
export const inventoryOfRequests = statement('privacy.inventory', {
  takes: { ...subject, actors: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?', closed: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n, min(received_at) AS since, max(closed_at) AS closed
    FROM privacy_requests WHERE ${isAboutSubject} OR filed_by = ANY($actors) OR assigned_to = $account`,
})

/**
 * Requests that name the subject. `actors` are its ids in the audit log, and `hashes` its keyed hashes. A pseudonymous request is
 * included while it has an address or is open, except a request whose own erasure is running.
 */
export const requestsNaming = statement('privacy.plan', {
  takes: { ...subject, actors: 'text[]', hashes: 'text[]' },
  returns: { id: 'text' },
  sql: `SELECT id FROM privacy_requests
    WHERE ${isAboutSubject} OR filed_by = ANY($actors) OR assigned_to = $account
      OR (subject_key = ANY($hashes) AND (contact IS NOT NULL OR closed_at IS NULL) AND NOT ${isBeingErased})
    ORDER BY id`,
})

/** The requests among these that are about the subject. Open requests are obsolete, except a request whose erasure is running. */
export const requestsAbout = statement('privacy.about', {
  takes: { ...subject, ids: 'text[]', hashes: 'text[]' },
  returns: { id: 'text', isObsolete: 'bool' },
  sql: `SELECT id, run_id IS NULL AND closed_at IS NULL AS "isObsolete" FROM privacy_requests
    WHERE id = ANY($ids) AND (${isAboutSubject} OR subject_key = ANY($hashes))`,
})

export const deleteNotes = statement('privacy.delete-notes', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: 'UPDATE privacy_request_events SET note = NULL WHERE request_id = ANY($ids) AND note IS NOT NULL',
})

export const deleteExportPaths = statement('privacy.delete-export-paths', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: `UPDATE privacy_request_parts SET outcome = outcome - 'export' WHERE request_id = ANY($ids) AND outcome ? 'export'`,
})

/** Makes the requests pseudonymous. A request whose erasure is running keeps its address for the last email. */
export const deleteSubjects = statement('privacy.delete-subjects', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: `UPDATE privacy_requests SET account_id = NULL, agent_id = NULL, participant_id = NULL, payload = NULL, address_key = NULL, version = version + 1,
      contact = CASE WHEN ${isBeingErased} THEN contact END
    WHERE id = ANY($ids)`,
})

/** Counts requests from the form under the subject's hash, so that verification searches them by it. */
export const assignToSubject = statement('privacy.assign-to-subject', {
  takes: { ids: 'text[]', subjectKey: 'text' },
  returns: 'count',
  sql: `UPDATE privacy_requests SET subject_key = $subjectKey WHERE id = ANY($ids) AND subject_kind = 'requester'`,
})

/** Deletes the subject's name from the requests that it filed or was assigned to. */
export const deleteActors = statement('privacy.delete-actors', {
  takes: { ids: 'text[]', actors: 'text[]', account: 'text?' },
  returns: 'count',
  sql: `UPDATE privacy_requests SET filed_by = CASE WHEN filed_by = ANY($actors) THEN NULL ELSE filed_by END,
      assigned_to = nullif(assigned_to, $account)
    WHERE id = ANY($ids)`,
})

/** Counts rows that still name the subject, by its keyed hash and by remaining texts. */
export const countResidue = statement('privacy.residue', {
  takes: { hashes: 'text[]', items: 'text[]', actors: 'text[]', account: 'text?' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT ((SELECT count(*) FROM privacy_requests WHERE subject_key = ANY($hashes)
        AND (account_id IS NOT NULL OR agent_id IS NOT NULL OR participant_id IS NOT NULL OR payload IS NOT NULL
          OR (run_id IS NULL AND closed_at IS NULL) OR (contact IS NOT NULL AND NOT ${isBeingErased})))
      + (SELECT count(*) FROM privacy_requests WHERE id = ANY($items) AND (filed_by = ANY($actors) OR assigned_to = $account))
      + (SELECT count(*) FROM privacy_request_events e JOIN privacy_requests q ON q.id = e.request_id
         WHERE q.subject_key = ANY($hashes) AND e.note IS NOT NULL)
      + (SELECT count(*) FROM privacy_links l JOIN privacy_requests q ON q.id = l.request_id WHERE q.subject_key = ANY($hashes)))::int AS n`,
})

/** Counts the requests of erased subjects that keep an address for the last email. */
export const countRetainedAddresses = statement('privacy.retained-addresses', {
  takes: { hashes: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM privacy_requests
    WHERE subject_key = ANY($hashes) AND contact IS NOT NULL AND ${isBeingErased}`,
})

/** Counts the open requests about the person or one of their agents. */
export const countOpenRequests = statement('privacy.count-open', {
  takes: { account: 'text' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM privacy_requests r WHERE r.closed_at IS NULL
    AND (r.account_id = $account OR r.agent_id IN (SELECT id FROM agent_owners WHERE owner_id = $account))`,
})

/** The erasure runs of open requests about the person or these agents. */
export const openRuns = statement('privacy.open-runs', {
  takes: { account: 'text?', agents: 'text[]' },
  returns: { requestId: 'text', runId: 'text!' },
  isPrepared: true,
  sql: `SELECT id AS "requestId", run_id AS "runId" FROM privacy_requests
    WHERE (account_id = $account OR agent_id = ANY($agents)) AND closed_at IS NULL AND run_id IS NOT NULL`,
})

/** The erasure runs of agents that this actor requested in the console. */
export const runsFiledBy = statement('privacy.runs-filed-by', {
  takes: { actor: 'text' },
  returns: { id: 'text!' },
  isPrepared: true,
  sql: `SELECT run_id AS id FROM privacy_requests
    WHERE filed_by = $actor AND channel = 'console' AND subject_kind = 'agent' AND run_id IS NOT NULL`,
})

/** Verified requests for a copy of the participant's data. */
export const copyRequests = statement('privacy.copy-requests', {
  takes: { participant: 'text', after: 'timestamptz' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM privacy_requests WHERE participant_id = $participant AND kinds && ARRAY['access', 'portability']
    AND state NOT IN ('cancelled', 'rejected') AND verified_at > $after LIMIT 1`,
})

/**
 * Requests for a copy of the agent's data that the agent or its owner confirmed. A confirmation by an admin does not count, because it
 * would let the admin read private content without the owner.
 */
export const agentCopyRequests = statement('privacy.agent-copy-requests', {
  takes: { agent: 'text', after: 'timestamptz' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM privacy_requests WHERE agent_id = $agent AND kinds && ARRAY['access', 'portability']
    AND state NOT IN ('cancelled', 'rejected') AND verified_at > $after AND verified_by IN ('password', 'token', 'link')
    ORDER BY verified_at DESC LIMIT 1`,
})

/** All requests whose subject is known. */
export const knownSubjects = statement('privacy.known-subjects', {
  takes: {},
  returns: { id: 'text', kind: typed<'account' | 'agent' | 'participant'>('text'), subject: 'text' },
  sql: `SELECT r.id, s.kind, s.subject FROM privacy_requests r CROSS JOIN LATERAL (
      SELECT * FROM (VALUES ('account', r.account_id), ('participant', r.participant_id), ('agent', r.agent_id)) AS v (kind, subject)
      WHERE v.subject IS NOT NULL LIMIT 1) AS s`,
})

export const storeSubjectKeys = statement('privacy.store-subject-keys', {
  takes: { ids: 'text[]', keys: 'text[]' },
  returns: 'count',
  sql: `UPDATE privacy_requests SET subject_key = hashed.subject_key
    FROM unnest($ids, $keys) AS hashed (id, subject_key)
    WHERE privacy_requests.id = hashed.id AND privacy_requests.subject_key <> hashed.subject_key`,
})
