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

type Argon2id = (password: Bytes, salt: Bytes, costs: Costs) => Promise<Bytes>

/** Argon2id in JavaScript, for browsers and older versions of Node. Takes seconds. */
export const scriptArgon2id: Argon2id = async (password, salt, { m, t, p }) =>
  Uint8Array.from(
    // The memory limit exceeds 1 GiB by the size of the library's own tables.
    await argon2idAsync(password, salt, { m, t, p, dkLen: keyLength, asyncTick: 100, maxmem: 2 ** 30 + 2 ** 20 }),
  )

const builtIn = globalThis.process?.getBuiltinModule?.('node:crypto')?.argon2
/** Node's own Argon2id. It runs on another thread and takes a fifth of the time. */
const builtInArgon2id: Argon2id | undefined =
  builtIn &&
  ((message, nonce, { m, t, p }) =>
    new Promise((resolve, reject) =>
      builtIn(
        'argon2id',
        { message, nonce, memory: m, passes: t, parallelism: p, tagLength: keyLength },
        (error, key) => (error ? reject(error) : resolve(Uint8Array.from(key))),
      ),
    ))

/**
 * Argon2id, version 1.3, of the NFKC form of the passphrase, so that all keyboards give the same key.
 * @throws SealingRefusal `refused_parameters`
 */
export async function passphraseKey(passphrase: string, salt: Bytes, costsOfKey: Costs): Promise<Bytes> {
  if (!areCostsGood(costsOfKey)) throw new SealingRefusal('refused_parameters')
  const argon2id = builtInArgon2id ?? scriptArgon2id
  return argon2id(utf8(passphrase.normalize('NFKC')), salt, costsOfKey)
}

/** Derives `length` bytes, by default 32, from a secret with HKDF-SHA256 (RFC 5869). `info` separates keys by purpose. */
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
