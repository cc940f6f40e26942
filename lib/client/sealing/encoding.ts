import { SealingRefusal } from './sealing-refusal.ts'

/** Bytes with their own buffer, as Web Crypto requires. */
export type Bytes = Uint8Array<ArrayBuffer>
export type SealedJson =
  | null
  | boolean
  | number
  | string
  | readonly SealedJson[]
  | { readonly [key: string]: SealedJson }

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export const utf8 = (text: string): Bytes => encoder.encode(text)
/** Decodes UTF-8. @throws SealingRefusal `damaged` for invalid UTF-8 */
export function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new SealingRefusal('damaged')
  }
}

/** Bytes per call of `fromCharCode`: the number of arguments is limited. */
const atOnce = 32_768
/** Base64url without padding (RFC 4648, section 5). */
export function encoded(bytes: Uint8Array): string {
  let signs = ''
  for (let from = 0; from < bytes.length; from += atOnce)
    signs += String.fromCharCode(...bytes.subarray(from, from + atOnce))
  return btoa(signs)
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/={1,2}$/, '')
}
/** Decodes base64url. @throws SealingRefusal `damaged` for text that is not canonical or bytes of another length */
export function decoded(text: unknown, length?: number): Bytes {
  if (typeof text !== 'string' || !/^[\w-]*$/.test(text) || text.length % 4 === 1) throw new SealingRefusal('damaged')
  const bytes = Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (sign) => sign.charCodeAt(0))
  // The last character may contain unused bits, so that several texts decode to the same bytes. Only the canonical one
  // is accepted.
  if ((length !== undefined && bytes.length !== length) || encoded(bytes) !== text) throw new SealingRefusal('damaged')
  return bytes
}

export const randomBytes = (length: number): Bytes => crypto.getRandomValues(new Uint8Array(length))

/** Canonical JSON (RFC 8785) for headers: strings, integers and objects. */
export function canonical(value: SealedJson): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
/** The named members of an object that has no others. @throws SealingRefusal `damaged` */
export function membersOf<N extends string>(value: unknown, names: readonly N[]): Record<N, unknown> {
  if (
    !isRecord(value) ||
    Object.keys(value).length !== names.length ||
    !names.every((name) => Object.hasOwn(value, name))
  )
    throw new SealingRefusal('damaged')
  return value as Record<N, unknown>
}
