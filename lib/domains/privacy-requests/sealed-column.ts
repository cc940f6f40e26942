import type { ClientBase } from 'pg'
import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { requestSubjectHash } from './requests.ts'

export const sealedContacts: SealedColumn = {
  table: 'privacy_requests',
  id: 'id',
  column: 'contact',
  purpose: sealedPurposes.privacyContacts,
}

/**
 * Privacy requests are found by their subject's hash. It is recomputed under a new key if the subject is still known; otherwise the old
 * hash remains and no longer matches.
 */
export async function rehashSubjects(client: ClientBase, key: Uint8Array): Promise<void> {
  const { rows } = await client.query<{ id: string; kind: 'account' | 'agent' | 'participant'; subject: string }>(
    `SELECT r.id, s.kind, s.subject FROM privacy_requests r CROSS JOIN LATERAL (
       SELECT * FROM (VALUES ('account', r.account_id), ('participant', r.participant_id), ('agent', r.agent_id)) AS v (kind, subject)
       WHERE v.subject IS NOT NULL LIMIT 1) AS s`,
  )
  await client.query(
    `UPDATE privacy_requests SET subject_key = hashed.subject_key
     FROM unnest($1::text[], $2::text[]) AS hashed (id, subject_key)
     WHERE privacy_requests.id = hashed.id AND privacy_requests.subject_key <> hashed.subject_key`,
    [rows.map(({ id }) => id), rows.map(({ kind, subject }) => requestSubjectHash(key, kind, subject))],
  )
}
