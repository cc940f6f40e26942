import { seal, sealedPurposes, unseal } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'

/** The installation's keys that seal documents of agents at rest. */
export interface DocumentKeys {
  title(): Uint8Array
  body(): Uint8Array
}

export const documentKeys = (keyFor: (purpose: string) => () => Uint8Array): DocumentKeys => ({
  title: keyFor(sealedPurposes.documentTitles),
  body: keyFor(sealedPurposes.documentBodies),
})

/** Bytes that sealing adds to a text: a nonce and an authentication tag. */
export const sealOverhead = 28

interface StoredTexts {
  id: string
  title: string | null
  sealed_title: Uint8Array | null
  body: string | null
  sealed_body: Uint8Array | null
}

/** The columns of a document that is stored sealed. */
export const sealedTexts = ({ title, body }: DocumentKeys, id: string, texts: { title: string; body: string }) => ({
  title: null,
  body: null,
  sealedTitle: new Uint8Array(seal(title(), Buffer.from(texts.title), id)),
  sealedBody: new Uint8Array(seal(body(), Buffer.from(texts.body), id)),
})

/** The title of a stored document. Rows of earlier versions are not sealed yet. @throws when a seal cannot be opened */
export const titleOf = (keys: DocumentKeys, row: Pick<StoredTexts, 'id' | 'title' | 'sealed_title'>): string =>
  row.sealed_title === null ? (row.title ?? '') : unseal(keys.title(), row.sealed_title, row.id).toString('utf8')

/** The text of a stored document. Rows of earlier versions are not sealed yet. @throws when a seal cannot be opened */
export const bodyOf = (keys: DocumentKeys, row: Pick<StoredTexts, 'id' | 'body' | 'sealed_body'>): string =>
  row.sealed_body === null ? (row.body ?? '') : unseal(keys.body(), row.sealed_body, row.id).toString('utf8')

export const sealedDocumentTitles: SealedColumn = {
  table: 'agent_documents',
  id: 'id',
  column: 'sealed_title',
  purpose: sealedPurposes.documentTitles,
}
export const sealedDocumentBodies: SealedColumn = {
  table: 'agent_documents',
  id: 'id',
  column: 'sealed_body',
  purpose: sealedPurposes.documentBodies,
}
