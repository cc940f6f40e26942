export const entryKinds = ['episode', 'insight', 'heuristic', 'warning', 'causal_link'] as const
export type EntryKind = (typeof entryKinds)[number]
export const entryScopes = ['private', 'clade'] as const
export type EntryScope = (typeof entryScopes)[number]

/** Maximum bytes of an entry: of a private one with padding, of others as JSON. */
export const grimoireEntryBytes = 65_536
export const maxEntries = 100_000
/** Bytes of entries after which a page ends early. */
export const entryPageBytes = 1024 * 1024
/** Bytes of the AES-256-GCM tag. The nonce has 12 bytes. */
const tagBytes = 16
/** Padding step in bytes: the exact length of an entry is hidden. */
const paddingStep = 256

export const grimoireEntryIdForm = /^ent_[0-9A-Za-z]{22}$/
export const keyIdForm = /^key_[0-9A-Za-z]{22}$/

/** Whether the text is canonical base64url without padding, of a permitted number of bytes. */
export function isBase64Bytes(text: string, fits: (length: number) => boolean): boolean {
  if (!/^[\w-]*$/.test(text)) return false
  const bytes = Buffer.from(text, 'base64url')
  return fits(bytes.length) && bytes.toString('base64url') === text
}

const decoder = new TextDecoder('utf-8', { fatal: true })
function isText(bytes: Uint8Array): boolean {
  try {
    decoder.decode(bytes)
    return true
  } catch {
    return false
  }
}
/**
 * Whether the bytes can be ciphertext: padded length plus tag, and not valid text. Random bytes of this length are
 * valid UTF-8 with a probability below 2^-100, so this detects plain text that is only encoded.
 */
export function isCiphertext(text: string): boolean {
  const fits = (length: number) => {
    const plain = length - tagBytes
    return plain >= paddingStep && plain <= grimoireEntryBytes && plain % paddingStep === 0
  }
  return isBase64Bytes(text, fits) && !isText(Buffer.from(text, 'base64url'))
}

const day = 86_400_000
/** Entries created at or before this time have expired, with a retention of `days`. Null: entries do not expire. */
export const erasedBefore = (days: number | null, now: Date): Date | null =>
  days === null ? null : new Date(now.getTime() - days * day)
