import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from './kernel/error-code.ts'

const madeSecret = /^[\w-]{43}$/
/** A secret as this installation makes them: 32 random bytes, base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url')

function sync(path: string): void {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}

/** Writes a new secret to a file that is not there yet; mode 600. */
function make(file: string): void {
  try {
    writeFileSync(file, newSecret(), { mode: 0o600, flag: 'wx', flush: true })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
}

/** The installation's secret: as given, else the one kept in `<dataDir>/secret` (mode 600), made at the first call. */
export function installationSecret(dataDir: string, given?: string): string {
  if (given) return given
  mkdirSync(dataDir, { recursive: true })
  make(join(dataDir, 'secret'))
  return readFileSync(join(dataDir, 'secret'), 'utf8').trim()
}

const nextFile = (dataDir: string): string => join(dataDir, 'secret.next')

/** The secret that a rotation has begun to put in the place of the present one; undefined where none has. */
export function pendingSecret(dataDir: string): string | undefined {
  if (!existsSync(nextFile(dataDir))) return undefined
  const text = readFileSync(nextFile(dataDir), 'utf8').trim()
  // Half a file was written by a crash before anything was sealed with it.
  return madeSecret.test(text) ? text : undefined
}

/** The secret to rotate to, on the disk in `<dataDir>/secret.next` before anything is sealed with it; the same after a crash. */
export function nextSecret(dataDir: string): string {
  const begun = pendingSecret(dataDir)
  if (begun !== undefined) return begun
  writeFileSync(nextFile(dataDir), newSecret(), { mode: 0o600, flush: true })
  sync(dataDir)
  return nextSecret(dataDir)
}

/** Puts the next secret in the place of the present one, in one step of the file system. */
export function adoptNextSecret(dataDir: string): void {
  renameSync(nextFile(dataDir), join(dataDir, 'secret'))
  sync(dataDir)
}

/** A 32-byte key for one purpose (HKDF-SHA256, RFC 5869). */
export const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'knowledgepulse', purpose, 32))

/** By which a database tells whether a secret is the one that its keys are sealed with; the secret cannot be had from it. */
export const secretMark = (secret: string): string => deriveKey(secret, 'mark of the secret').toString('base64url')

/** What is kept sealed with the installation's secret, by the purpose of {@link deriveKey}. A rotation seals all of it anew. */
export const sealedPurposes = {
  signingKeys: 'receipt signing keys',
  suppressionKeys: 'suppression keys',
  privacyContacts: 'privacy contacts',
  grimoire: 'grimoire entries',
  clades: 'clade shares',
  llmLog: 'model log',
  telemetryKeys: 'telemetry keys',
} as const

/** Under which the subjects of privacy requests are hashed, by {@link deriveKey}. A rotation hashes those anew whose id is still there. */
export const subjectPurpose = 'privacy subjects'
/** HMAC-SHA256 of who a privacy request is about, base64url: by it requests of one subject are found. */
export const subjectHash = (key: Uint8Array, kind: 'account' | 'agent', id: string): string =>
  createHmac('sha256', key).update(`${kind}:${id}`).digest('base64url')

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

/** As {@link unseal}; undefined where it does not open. */
export function unsealed(key: Uint8Array, sealed: Uint8Array, context: string): Buffer | undefined {
  try {
    return unseal(key, sealed, context)
  } catch {
    return undefined
  }
}
