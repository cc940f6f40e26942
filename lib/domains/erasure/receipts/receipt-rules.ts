import canonicalize from 'canonicalize'
import { calculateJwkThumbprint, compactVerify, decodeProtectedHeader, errors, importJWK, type JWK } from 'jose'
import type { CompleteReading, ReadingAttestation, Receipt } from '#lib/kernel/receipt.ts'

// Pure functions, used wherever a receipt is checked: on the server, in `kp` and in the browser.

/**
 * unsigned: the receipt has no signature. unknown_key: no given key has the signature's key id. bad_signature: the key
 * did not make the signature. changed: the receipt differs from the signed text. unsupported: this machine cannot check
 * Ed25519 signatures.
 */
export const signatureFaults = ['unsigned', 'unknown_key', 'bad_signature', 'changed', 'unsupported'] as const
export type SignatureFault = (typeof signatureFaults)[number]

/** The type of a receipt's signature. */
const receiptType = 'deletion-receipt'
/** The type of the signature of a second statement. */
export const readingType = 'complete-reading'
/** The type of the signature of a completed reading over all its erasures. */
export const attestationType = 'reading-attestation'

/** A signed statement: its `jws` covers its other members. */
export type Signed = Partial<Receipt> | Partial<CompleteReading> | Partial<ReadingAttestation>
/** Returns the bytes that a signature covers: RFC 8785 without `jws` and without the second statement, which has its own signature. */
export function signedBytes(signed: Signed): Uint8Array {
  const unsigned = Object.fromEntries(
    Object.entries(signed).filter(([name]) => name !== 'jws' && name !== 'complete_reading'),
  )
  const text = canonicalize(unsigned)
  if (text === undefined) throw new TypeError('a receipt must be an object')
  return new TextEncoder().encode(text)
}
const areEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, index) => byte === other[index])

function headerOf(
  jws: string,
): { kid: string | undefined; alg: string | undefined; typ: string | undefined } | undefined {
  try {
    const { kid, alg, typ } = decodeProtectedHeader(jws)
    return { kid, alg, typ }
  } catch {
    return undefined
  }
}

/**
 * Checks that one of the given keys signed exactly this receipt. The caller must have pinned the keys before; keys
 * delivered with the receipt prove nothing.
 * Returns the key's id, or the fault with the key id that the signature claims, if any.
 */
export async function checkSignature(
  receipt: Signed,
  keys: readonly JWK[],
  type: string = receiptType,
): Promise<{ kid: string } | { fault: SignatureFault; kid?: string }> {
  const { jws } = receipt
  if (typeof jws !== 'string' || jws === '') return { fault: 'unsigned' }
  const header = headerOf(jws)
  if (header?.kid === undefined) return { fault: 'bad_signature' }
  const { kid } = header
  // The same key signs other documents, such as the manifests of clades.
  if (header.typ !== type) return { fault: 'bad_signature', kid }
  const key = keys.find((one) => one.kid === kid)
  if (!key || header.alg !== 'EdDSA') return { fault: 'unknown_key', kid }
  const imported = await importJWK(key, 'EdDSA').catch(() => undefined)
  if (!imported) return { fault: 'unsupported', kid }
  try {
    const { payload } = await compactVerify(jws, imported, { algorithms: ['EdDSA'] })
    return areEqual(payload, signedBytes(receipt)) ? { kid } : { fault: 'changed', kid }
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof SyntaxError) return { fault: 'bad_signature', kid }
    throw error
  }
}

/** Returns the data sources in which verification found residue. */
export const remainingIn = ({ stores }: Pick<Receipt, 'stores'>): Receipt['stores'] =>
  stores.filter(({ residue }) => residue !== 0)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isStore = (value: unknown): boolean =>
  isObject(value) &&
  ['store', 'holder', 'what', 'verified_at'].every((name) => typeof value[name] === 'string') &&
  ['found', 'deleted', 'residue'].every((name) => typeof value[name] === 'number')
const isReading = (value: unknown): boolean =>
  isObject(value) &&
  Array.isArray(value.stores) &&
  value.stores.every(
    (one) =>
      isObject(one) &&
      typeof one.until === 'string' &&
      typeof one.left === 'number' &&
      Array.isArray(one.not_read) &&
      one.not_read.every((group: unknown) => isObject(group) && typeof group.count === 'number'),
  )
const isRetained = (value: unknown): boolean => isObject(value) && typeof value.what === 'string'
const isReceipt = (value: unknown): value is Receipt =>
  isObject(value) &&
  value.version === 1 &&
  ['receipt_id', 'issuer', 'deleted_id', 'deleted_at', 'signed_at'].every((name) => typeof value[name] === 'string') &&
  Array.isArray(value.stores) &&
  value.stores.every(isStore) &&
  (value.held === undefined || typeof value.held === 'number') &&
  (value.complete_reading === undefined || isReading(value.complete_reading)) &&
  [value.retained, value.physical].every((list) => Array.isArray(list) && list.every(isRetained))

/** Parses a receipt. Checks only the members needed to display it; only the signature proves its content. */
export function receiptInText(text: string): Receipt | undefined {
  const value = parsed(text)
  return isReceipt(value) ? value : undefined
}

const isReadStore = (value: unknown): boolean =>
  isObject(value) &&
  ['store', 'holder', 'from', 'until'].every((name) => typeof value[name] === 'string') &&
  ['texts', 'found', 'erased', 'left', 'explained'].every((name) => typeof value[name] === 'number') &&
  Array.isArray(value.not_read)
const isAttestation = (value: unknown): value is ReadingAttestation =>
  isObject(value) &&
  value.version === 1 &&
  ['reading_id', 'issuer', 'started_at', 'completed_at', 'signed_at'].every(
    (name) => typeof value[name] === 'string',
  ) &&
  ['erasures', 'erasures_found'].every((name) => typeof value[name] === 'number') &&
  Array.isArray(value.stores) &&
  value.stores.every(isReadStore)

/** Parses the attestation of a complete reading. Checks only the members needed to display it; only the signature proves its content. */
export function attestationInText(text: string): ReadingAttestation | undefined {
  const value = parsed(text)
  return isAttestation(value) ? value : undefined
}

/**
 * Parses a JWK Set (RFC 7517) or a single key. Skips keys other than Ed25519; a key without an id gets its thumbprint
 * (RFC 7638).
 */
export async function keysInText(text: string): Promise<JWK[]> {
  const value = parsed(text)
  const listed = isObject(value) && Array.isArray(value.keys) ? value.keys : [value]
  const keys: JWK[] = []
  for (const one of listed) {
    if (!isObject(one) || one.kty !== 'OKP' || one.crv !== 'Ed25519' || typeof one.x !== 'string') continue
    const key = { kty: 'OKP', crv: 'Ed25519', x: one.x }
    keys.push({ ...key, kid: typeof one.kid === 'string' ? one.kid : await calculateJwkThumbprint(key) })
  }
  return keys
}
