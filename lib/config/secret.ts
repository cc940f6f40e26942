import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '#lib/kernel/error-code.ts'

const madeSecret = /^[\w-]{43}$/
/** Generates a secret: 32 random bytes, base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url')

function sync(path: string): void {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}

/** Writes a new secret with mode 600 if the file does not exist. */
function make(file: string): void {
  try {
    writeFileSync(file, newSecret(), { mode: 0o600, flag: 'wx', flush: true })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
}

/** The installation's secret: the given one, or the one in `<dataDir>/secret` (mode 600), created at the first call. */
export function installationSecret(dataDir: string, given?: string): string {
  if (given) return given
  mkdirSync(dataDir, { recursive: true })
  make(join(dataDir, 'secret'))
  return readFileSync(join(dataDir, 'secret'), 'utf8').trim()
}

const nextFile = (dataDir: string): string => join(dataDir, 'secret.next')

/** The secret of a rotation that has begun; undefined if there is none. */
export function pendingSecret(dataDir: string): string | undefined {
  if (!existsSync(nextFile(dataDir))) return undefined
  const text = readFileSync(nextFile(dataDir), 'utf8').trim()
  // A partial file comes from a crash before anything was sealed with it.
  return madeSecret.test(text) ? text : undefined
}

/** The next secret of a rotation, written to `<dataDir>/secret.next` before anything is sealed with it. It is the same after a crash. */
export function nextSecret(dataDir: string): string {
  const begun = pendingSecret(dataDir)
  if (begun !== undefined) return begun
  writeFileSync(nextFile(dataDir), newSecret(), { mode: 0o600, flush: true })
  sync(dataDir)
  return nextSecret(dataDir)
}

/** Replaces the present secret with the next one, atomically. */
export function adoptNextSecret(dataDir: string): void {
  renameSync(nextFile(dataDir), join(dataDir, 'secret'))
  sync(dataDir)
}

/** A 32-byte key for one purpose (HKDF-SHA256, RFC 5869). */
export const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'knowledgepulse', purpose, 32))

/** Identifies a secret in the database, to check whether the keys are sealed with it. The secret cannot be derived from it. */
export const secretFingerprint = (secret: string): string =>
  deriveKey(secret, 'mark of the secret').toString('base64url')

/** The purposes for {@link deriveKey} of everything sealed with the installation's secret. A rotation reseals all of it. */
export const sealedPurposes = {
  signingKeys: 'receipt signing keys',
  suppressionKeys: 'suppression keys',
  privacyContacts: 'privacy contacts',
  privacyForms: 'privacy forms',
  grimoire: 'grimoire entries',
  documentTitles: 'titles of agent documents',
  documentBodies: 'agent documents',
  clades: 'clade shares',
  llmLog: 'model log',
  telemetryKeys: 'telemetry keys',
  totpSecrets: 'authenticator secrets',
  proposals: 'proposals of admins',
} as const

/** The purpose for {@link deriveKey} of the hashes of privacy request subjects. A rotation recomputes hashes whose id still exists. */
export const subjectPurpose = 'privacy subjects'

/** AES-256-GCM: a nonce of 12 bytes, a tag of 16 bytes, then the ciphertext. */
export function seal(key: Uint8Array, plain: Uint8Array, context: string): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

/** Opens what {@link seal} produced; throws if the key, the context or a byte differs. */
export function unseal(key: Uint8Array, sealed: Uint8Array, context: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(12, 28))
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()])
}

/** Like {@link unseal}, but returns undefined if it cannot be opened. */
export function unsealed(key: Uint8Array, sealed: Uint8Array, context: string): Buffer | undefined {
  try {
    return unseal(key, sealed, context)
  } catch {
    return undefined
  }
}
