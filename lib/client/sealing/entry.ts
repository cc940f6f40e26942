import type { EntryKind } from '#lib/domains/grimoire/rules.ts'
import {
  type Bytes,
  canonical,
  decoded,
  decodeText,
  encoded,
  isRecord,
  membersOf,
  randomBytes,
  type SealedJson,
  utf8,
} from './encoding.ts'
import { entriesKey, type MasterKey } from './keyring.ts'
import { decrypted, encrypted, nonceLength, tagLength } from './primitives.ts'
import { SealingRefusal } from './sealing-refusal.ts'

/** A private entry as the server stores it. Bytes are base64url. */
export interface Envelope {
  v: 1
  key_id: string
  nonce: string
  ciphertext: string
}
/** Metadata stored with the envelope. It is authenticated: the envelope opens only with the same values. */
export interface EntryHead {
  id: string
  agent: string
  kind: EntryKind
  scope: 'private'
}
/** The content of an entry. Times are ISO 8601. */
export interface EntryContent {
  content: SealedJson
  /** 0 to 1. Null when it is not stated. */
  confidence: number | null
  tags: readonly string[]
  provenance: SealedJson
  /** Ids of the entries that it derives from. */
  parents: readonly string[]
  valid_from: string | null
  valid_until: string | null
}

/** Padding step in bytes: the exact length of an entry is hidden. */
export const paddingStep = 256
/** Maximum bytes of an entry with padding, before sealing. */
export const largestEntry = 65_536

/** Padding of ISO/IEC 7816-4: a byte 0x80, then zeros. */
function padded(plain: Bytes): Bytes {
  const length = Math.ceil((plain.length + 1) / paddingStep) * paddingStep
  if (length > largestEntry) throw new SealingRefusal('too_large')
  const bytes = new Uint8Array(length)
  bytes.set(plain)
  bytes[plain.length] = 0x80
  return bytes
}
function unpadded(bytes: Bytes): Bytes {
  const end = bytes.findLastIndex((byte) => byte !== 0)
  if (end < 0 || bytes[end] !== 0x80) throw new SealingRefusal('damaged')
  return bytes.subarray(0, end)
}

const headerOf = (keyId: string, { id, agent, kind, scope }: EntryHead): Bytes =>
  utf8(canonical({ v: 1, key_id: keyId, id, agent, kind, scope }))

const areTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
const isTime = (value: unknown): value is string | null => value === null || typeof value === 'string'
const isConfidence = (value: unknown): value is number | null =>
  value === null || (typeof value === 'number' && value >= 0 && value <= 1)

function contentOf(text: string): EntryContent {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new SealingRefusal('damaged')
  }
  if (!isRecord(value)) throw new SealingRefusal('damaged')
  const { content, confidence, tags, provenance, parents, valid_from, valid_until } = value
  const isWhole = content !== undefined && provenance !== undefined
  if (!isWhole || !isConfidence(confidence) || !areTexts(tags) || !areTexts(parents))
    throw new SealingRefusal('damaged')
  if (!isTime(valid_from) || !isTime(valid_until)) throw new SealingRefusal('damaged')
  // The values come from JSON.parse.
  return {
    content: content as SealedJson,
    confidence,
    tags,
    provenance: provenance as SealedJson,
    parents,
    valid_from,
    valid_until,
  }
}

/** Seals an entry on the owner's machine with a new nonce. @throws SealingRefusal `too_large` */
export async function sealEntry(master: MasterKey, head: EntryHead, entry: EntryContent): Promise<Envelope> {
  const plain = padded(utf8(JSON.stringify(entry)))
  const nonce = randomBytes(nonceLength)
  const sealed = await encrypted(await entriesKey(master), nonce, plain, headerOf(master.keyId, head))
  return { v: 1, key_id: master.keyId, nonce: encoded(nonce), ciphertext: encoded(sealed) }
}

/** Opens an entry of {@link sealEntry}. @throws SealingRefusal `other_key`, or `damaged` when a bit of head or envelope differs */
export async function openEntry(master: MasterKey, head: EntryHead, envelope: unknown): Promise<EntryContent> {
  const members = membersOf(envelope, ['v', 'key_id', 'nonce', 'ciphertext'])
  if (members.v !== 1 || typeof members.key_id !== 'string') throw new SealingRefusal('damaged')
  if (members.key_id !== master.keyId) throw new SealingRefusal('other_key')
  const nonce = decoded(members.nonce, nonceLength)
  const sealed = decoded(members.ciphertext)
  if (sealed.length < tagLength) throw new SealingRefusal('damaged')
  const plain = await decrypted(await entriesKey(master), nonce, sealed, headerOf(members.key_id, head))
  if (plain === undefined) throw new SealingRefusal('damaged')
  return contentOf(decodeText(unpadded(plain)))
}
