import type { ClientBase } from 'pg'
import { sealedPurposes, unsealed } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { openContact } from './filing/links.ts'
import { addressedRequests, sealedFormContents, storeAddressKeys, storeFormKeys } from './form/repository.ts'
import { openForm } from './form/service.ts'
import { knownSubjects, storeSubjectKeys } from './repository.ts'
import { formHash, requestSubjectHash } from './requests.ts'

export const sealedContacts: SealedColumn = {
  table: 'privacy_requests',
  id: 'id',
  column: 'contact',
  purpose: sealedPurposes.privacyContacts,
}

export const sealedForms: SealedColumn = {
  table: 'unconfirmed_requests',
  id: 'id',
  column: 'content',
  purpose: sealedPurposes.privacyForms,
}

/** Recomputes the hashes of addresses from the sealed addresses, which must be sealed with the new keys already. */
export async function rehashAddresses(
  client: ClientBase,
  keys: { subject: Uint8Array; contacts: Uint8Array; forms: Uint8Array },
): Promise<void> {
  const hash = (email: string) => formHash(keys.subject, 'address', email)
  const requests = (await addressedRequests(client, {})).flatMap(({ id, contact }) =>
    unsealed(keys.contacts, contact, id) ? [{ id, address: hash(openContact(keys.contacts, id, contact).email) }] : [],
  )
  await storeAddressKeys(client, {
    ids: requests.map(({ id }) => id),
    addresses: requests.map(({ address }) => address),
    subjects: requests.map(({ address }) => requestSubjectHash(keys.subject, 'requester', address)),
  })
  const forms = (await sealedFormContents(client, {})).flatMap(({ id, content }) =>
    unsealed(keys.forms, content, id) ? [{ id, address: hash(openForm(keys.forms, id, content).email) }] : [],
  )
  await storeFormKeys(client, { ids: forms.map(({ id }) => id), addresses: forms.map(({ address }) => address) })
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
