import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { seal, unseal } from '#lib/config/secret.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { CladePayload } from './contract.ts'
import { cladeEntryBytes } from './rules.ts'
import type { ShareableEntry } from './strip-rules.ts'

/** Canonical JSON (RFC 8785): equal values give equal texts. */
export function canonicalText(value: object): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('an object has a canonical form')
  return text
}

/** A payload as it is stored and signed. @throws Problem `too_large` */
export function packed(payload: ShareableEntry): { text: string; digest: Buffer } {
  const text = canonicalText(payload)
  if (Buffer.byteLength(text) > cladeEntryBytes)
    throw new Problem(
      'too_large',
      'The share is larger than 64 KiB as JSON, which is the limit. Nothing was sent. Split the entry into two entries.',
    )
  return { text, digest: createHash('sha256').update(text).digest() }
}
export const sealPayload = (key: Uint8Array, shareId: string, text: string): Buffer =>
  seal(key, Buffer.from(text), shareId)
export const openPayload = (key: Uint8Array, shareId: string, sealed: Uint8Array) =>
  CladePayload.parse(JSON.parse(unseal(key, sealed, shareId).toString('utf8')))
