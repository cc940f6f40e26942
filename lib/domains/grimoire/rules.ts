export const entryKinds = ['episode', 'insight', 'heuristic', 'warning', 'causal_link'] as const
export type EntryKind = (typeof entryKinds)[number]
export const entryScopes = ['private', 'clade'] as const
export type EntryScope = (typeof entryScopes)[number]

/** Bytes of an entry: of a private one with its padding, of another as JSON. */
export const entryBytes = 65_536
export const mostEntries = 100_000
/** Bytes of entries that a page has before it ends early. */
export const pageBytes = 1024 * 1024
/** AES-256-GCM under 12 bytes of nonce, with 16 of tag. */
const tagBytes = 16
/** An entry's length shows in steps of so many bytes. */
const paddingStep = 256

export const entryIdForm = /^ent_[0-9A-Za-z]{22}$/
export const keyIdForm = /^key_[0-9A-Za-z]{22}$/

/** Base64url of so many bytes, without padding, written in the one way there is. */
export function isBytes(text: string, fits: (length: number) => boolean): boolean {
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
 * Whether it can be what a client sealed: steps of padding and a tag, and no text. Ciphertext of this length is UTF-8 by chance less often
 * than once in 2^100 times; what somebody merely encoded is caught.
 */
export function isCiphertext(text: string): boolean {
  const fits = (length: number) => {
    const plain = length - tagBytes
    return plain >= paddingStep && plain <= entryBytes && plain % paddingStep === 0
  }
  return isBytes(text, fits) && !isText(Buffer.from(text, 'base64url'))
}

const day = 86_400_000
/** What was stored then or before is gone, where an agent's entries stay so many days; null: they stay. */
export const goneBefore = (days: number | null, now: Date): Date | null =>
  days === null ? null : new Date(now.getTime() - days * day)
