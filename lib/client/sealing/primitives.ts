import { argon2idAsync } from '@noble/hashes/argon2.js'
import { type Bytes, utf8 } from './encoding.ts'
import { SealingRefusal } from './sealing-refusal.ts'

export const keyLength = 32
export const nonceLength = 12
export const tagLength = 16
export const saltLength = 16

/** Costs of Argon2id (RFC 9106): memory in KiB, passes, lanes. */
export interface Costs {
  m: number
  t: number
  p: number
}
export const costs: Costs = { m: 65_536, t: 3, p: 1 }
/** Lower costs would allow guessing with a stolen keyring. Higher costs could overload the opening machine. */
export const areCostsGood = ({ m, t, p }: Costs): boolean =>
  Number.isInteger(m) && m >= 65_536 && m <= 1_048_576 && Number.isInteger(t) && t >= 3 && t <= 16 && p === 1

/**
 * Argon2id, version 1.3, of the NFKC form of the passphrase, so that all keyboards give the same key. Takes seconds.
 * @throws SealingRefusal `refused_parameters`
 */
export async function passphraseKey(passphrase: string, salt: Bytes, { m, t, p }: Costs): Promise<Bytes> {
  if (!areCostsGood({ m, t, p })) throw new SealingRefusal('refused_parameters')
  // The memory limit exceeds 1 GiB by the size of the library's own tables.
  const key = await argon2idAsync(utf8(passphrase.normalize('NFKC')), salt, {
    m,
    t,
    p,
    dkLen: keyLength,
    asyncTick: 100,
    maxmem: 2 ** 30 + 2 ** 20,
  })
  return Uint8Array.from(key)
}

/** HKDF-SHA256 (RFC 5869). */
export async function derived(secret: Bytes, salt: Bytes, info: string | Bytes, length = keyLength): Promise<Bytes> {
  const key = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits'])
  const bytes = typeof info === 'string' ? utf8(info) : info
  return new Uint8Array(
    await crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt, info: bytes }, key, length * 8),
  )
}

const cipherKey = (key: Bytes, use: 'encrypt' | 'decrypt') =>
  crypto.subtle.importKey('raw', key, 'AES-GCM', false, [use])
const cipher = (nonce: Bytes, header: Bytes) => ({
  name: 'AES-GCM',
  iv: nonce,
  additionalData: header,
  tagLength: tagLength * 8,
})

/** AES-256-GCM (NIST SP 800-38D): the ciphertext followed by its tag. */
export const encrypted = async (key: Bytes, nonce: Bytes, plain: Bytes, header: Bytes): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.encrypt(cipher(nonce, header), await cipherKey(key, 'encrypt'), plain))

/** Opens bytes of {@link encrypted}. Undefined when the key, the nonce, the header or a bit differs. */
export async function decrypted(key: Bytes, nonce: Bytes, sealed: Bytes, header: Bytes): Promise<Bytes | undefined> {
  const opening = await cipherKey(key, 'decrypt')
  try {
    return new Uint8Array(await crypto.subtle.decrypt(cipher(nonce, header), opening, sealed))
  } catch {
    return undefined
  }
}
