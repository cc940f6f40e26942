import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The installation's secret: as given, else the one kept in `<dataDir>/secret` (mode 600), made at the first call. */
export function installationSecret(dataDir: string, given?: string): string {
  if (given) return given
  const file = join(dataDir, 'secret')
  mkdirSync(dataDir, { recursive: true })
  try {
    writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  return readFileSync(file, 'utf8').trim()
}

/** A 32-byte key for one purpose (HKDF-SHA256, RFC 5869). */
export const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'knowledgepulse', purpose, 32))

/** AES-256-GCM: 12 bytes of nonce, 16 of tag, then the ciphertext. */
export function seal(key: Uint8Array, plain: Uint8Array, context: string): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

/** Opens what {@link seal} made; throws when the key, the context or a byte differs. */
export function unseal(key: Uint8Array, sealed: Uint8Array, context: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(12, 28))
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()])
}
