import type { ClientBase } from 'pg'
import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { knownSubjects, storeSubjectKeys } from './repository.ts'
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
  const rows = await knownSubjects(client, {})
  await storeSubjectKeys(client, {
    ids: rows.map(({ id }) => id),
    keys: rows.map(({ kind, subject }) => requestSubjectHash(key, kind, subject)),
  })
}
