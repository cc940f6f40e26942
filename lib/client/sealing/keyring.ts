import { type Bytes, canonical, decoded, encoded, membersOf, randomBytes, utf8 } from './encoding.ts'
import { type KeyPair, newKeyPair } from './hpke.ts'
import {
  areCostsGood,
  type Costs,
  costs,
  decrypted,
  derived,
  encrypted,
  keyLength,
  nonceLength,
  passphraseKey,
  saltLength,
  tagLength,
} from './primitives.ts'
import { SealingRefusal } from './sealing-refusal.ts'

/** Crockford's alphabet without I, L, O and U, which look like other characters. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 130 random bits. */
const secretSigns = 26
/** A prime: every single wrong character and every swap of neighbours changes the remainder. */
const modulus = 1021

/** Two check characters that reveal typing errors. */
function checkOf(signs: string): string {
  const rest = [...signs].reduce((sum, sign) => (sum * 32 + alphabet.indexOf(sign)) % modulus, 0)
  return alphabet.charAt(rest >> 5) + alphabet.charAt(rest & 31)
}

/** Generates a code: seven groups of four characters. */
export function newCode(): string {
  const secret = [...randomBytes(secretSigns)].map((byte) => alphabet.charAt(byte & 31)).join('')
  return (secret + checkOf(secret)).replace(/(.{4})(?=.)/g, '$1-')
}

/** The secret characters of a typed code, ignoring case, spaces and hyphens. @throws SealingRefusal `mistyped_recovery_code` */
export function secretOf(code: string): string {
  const signs = code.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')
  const secret = signs.slice(0, secretSigns)
  const isWhole = signs.length === secretSigns + 2 && [...signs].every((sign) => alphabet.includes(sign))
  if (!isWhole || checkOf(secret) !== signs.slice(secretSigns)) throw new SealingRefusal('mistyped_recovery_code')
  return secret
}

/** A keyring as the server stores it. Bytes are base64url without padding. */
export interface Keyring {
  v: 1
  /** `key_` and 22 characters: the id of the master key. */
  key_id: string
  kdf: Costs & { name: 'argon2id'; p: 1; salt: string }
  /** The master key, wrapped with a key from the passphrase. */
  passphrase: { nonce: string; wrapped: string }
  /** The master key, wrapped with a key from the recovery code. */
  recovery: { salt: string; nonce: string; wrapped: string }
  /** X25519. Snapshots are sealed to it. */
  public_key: string
  /** The private half, sealed with the master key. Its header authenticates the rest of the keyring. */
  private_key: { nonce: string; sealed: string }
}
/** An open keyring. Only in memory: never stored, sent or logged. */
export interface MasterKey {
  keyId: string
  bytes: Bytes
}

export const fewestPassphraseCharacters = 12
const wrappedLength = keyLength + tagLength
const keyIdForm = /^key_[0-9A-Za-z]{22}$/
const idAlphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `<prefix>_` and 22 base-62 characters with 131 random bits, in the form of the server's ids. */
export function newSealingId(prefix: 'key' | 'ent'): string {
  let signs = ''
  while (signs.length < 22)
    for (const byte of randomBytes(32)) {
      // Skip bytes above 247, which would favour some characters.
      if (byte < 248 && signs.length < 22) signs += idAlphabet.charAt(byte % 62)
    }
  return `${prefix}_${signs}`
}

/** Validates a keyring. @throws SealingRefusal `damaged` or `refused_parameters` */
function checkedKeyring(value: unknown): Keyring {
  const ring = membersOf(value, ['v', 'key_id', 'kdf', 'passphrase', 'recovery', 'public_key', 'private_key'])
  const kdf = membersOf(ring.kdf, ['name', 'm', 't', 'p', 'salt'])
  const passphrase = membersOf(ring.passphrase, ['nonce', 'wrapped'])
  const recovery = membersOf(ring.recovery, ['salt', 'nonce', 'wrapped'])
  const privateKey = membersOf(ring.private_key, ['nonce', 'sealed'])
  const lengths: [unknown, number][] = [
    [kdf.salt, saltLength],
    [recovery.salt, saltLength],
    [passphrase.nonce, nonceLength],
    [recovery.nonce, nonceLength],
    [privateKey.nonce, nonceLength],
    [passphrase.wrapped, wrappedLength],
    [recovery.wrapped, wrappedLength],
    [privateKey.sealed, wrappedLength],
    [ring.public_key, keyLength],
  ]
  for (const [text, length] of lengths) decoded(text, length)
  const { m, t, p } = kdf
  if (ring.v !== 1 || typeof ring.key_id !== 'string' || !keyIdForm.test(ring.key_id) || kdf.name !== 'argon2id')
    throw new SealingRefusal('damaged')
  if (typeof m !== 'number' || typeof t !== 'number' || typeof p !== 'number') throw new SealingRefusal('damaged')
  if (!areCostsGood({ m, t, p })) throw new SealingRefusal('refused_parameters')
  return value as Keyring
}

type Header = Pick<Keyring, 'v' | 'key_id' | 'public_key'>
const passphraseHeader = ({ v, key_id, public_key }: Header, kdf: Keyring['kdf']): Bytes =>
  utf8(canonical({ role: 'passphrase', v, key_id, public_key, kdf: { ...kdf } }))
const recoveryHeader = ({ v, key_id, public_key }: Header, salt: string): Bytes =>
  utf8(canonical({ role: 'recovery', v, key_id, public_key, salt }))
/** Everything except the sealed private key. Opening that key proves that the rest of the keyring is unchanged. */
const wholeHeader = ({ private_key, ...rest }: Keyring): Bytes =>
  utf8(
    canonical({
      role: 'private_key',
      ...rest,
      kdf: { ...rest.kdf },
      passphrase: { ...rest.passphrase },
      recovery: { ...rest.recovery },
      nonce: private_key.nonce,
    }),
  )

const passphraseOf = (text: string): string => {
  if ([...text.normalize('NFKC')].length < fewestPassphraseCharacters) throw new SealingRefusal('weak_passphrase')
  return text
}
const sealingKey = (master: MasterKey, purpose: string): Promise<Bytes> =>
  derived(master.bytes, utf8(master.keyId), `knowledgepulse/${purpose}/v1`)
const recoveryKey = (code: string, salt: Bytes): Promise<Bytes> =>
  derived(utf8(secretOf(code)), salt, 'knowledgepulse/recovery/v1')

async function wrappedByPassphrase(header: Header, master: MasterKey, passphrase: string) {
  const salt = randomBytes(saltLength)
  const kdf: Keyring['kdf'] = { name: 'argon2id', ...costs, p: 1, salt: encoded(salt) }
  const nonce = randomBytes(nonceLength)
  const key = await passphraseKey(passphraseOf(passphrase), salt, costs)
  const wrapped = await encrypted(key, nonce, master.bytes, passphraseHeader(header, kdf))
  return { kdf, passphrase: { nonce: encoded(nonce), wrapped: encoded(wrapped) } }
}

async function wrappedByCode(header: Header, master: MasterKey, code: string) {
  const salt = randomBytes(saltLength)
  const nonce = randomBytes(nonceLength)
  const key = await recoveryKey(code, salt)
  const wrapped = await encrypted(key, nonce, master.bytes, recoveryHeader(header, encoded(salt)))
  return { salt: encoded(salt), nonce: encoded(nonce), wrapped: encoded(wrapped) }
}

async function vouchedFor(ring: Omit<Keyring, 'private_key'>, master: MasterKey, privateKey: Bytes): Promise<Keyring> {
  const nonce = randomBytes(nonceLength)
  const whole: Keyring = { ...ring, private_key: { nonce: encoded(nonce), sealed: '' } }
  const key = await sealingKey(master, 'private-key')
  const sealed = await encrypted(key, nonce, privateKey, wholeHeader(whole))
  return { ...whole, private_key: { nonce: encoded(nonce), sealed: encoded(sealed) } }
}

/**
 * Creates a master key with its keyring. The recovery code is returned once and stored nowhere: without it and the
 * passphrase, nobody can open the sealed data. @throws SealingRefusal `weak_passphrase`
 */
export async function newKeyring(
  passphrase: string,
): Promise<{ keyring: Keyring; recoveryCode: string; masterKey: MasterKey }> {
  passphraseOf(passphrase)
  const { publicKey, privateKey } = await newKeyPair()
  const masterKey: MasterKey = { keyId: newSealingId('key'), bytes: randomBytes(keyLength) }
  const header: Header = { v: 1, key_id: masterKey.keyId, public_key: encoded(publicKey) }
  const recoveryCode = newCode()
  const byPassphrase = await wrappedByPassphrase(header, masterKey, passphrase)
  const recovery = await wrappedByCode(header, masterKey, recoveryCode)
  const keyring = await vouchedFor({ ...header, ...byPassphrase, recovery }, masterKey, privateKey)
  return { keyring, recoveryCode, masterKey }
}

async function openedBy(
  key: Bytes,
  { nonce, wrapped }: { nonce: string; wrapped: string },
  header: Bytes,
  keyring: Keyring,
): Promise<MasterKey | undefined> {
  const bytes = await decrypted(key, decoded(nonce, nonceLength), decoded(wrapped, wrappedLength), header)
  if (bytes === undefined) return undefined
  const master = { keyId: keyring.key_id, bytes }
  await privateKeyOf(master, keyring)
  return master
}

/** Opens a keyring with the passphrase. @throws SealingRefusal `wrong_passphrase`, `damaged` or `refused_parameters` */
export async function openKeyring(value: unknown, passphrase: string): Promise<MasterKey> {
  const keyring = checkedKeyring(value)
  const key = await passphraseKey(passphrase, decoded(keyring.kdf.salt, saltLength), keyring.kdf)
  const master = await openedBy(key, keyring.passphrase, passphraseHeader(keyring, keyring.kdf), keyring)
  if (master === undefined) throw new SealingRefusal('wrong_passphrase')
  return master
}

/**
 * Opens a keyring with the recovery code. @throws SealingRefusal `mistyped_recovery_code`, `wrong_recovery_code`,
 * `damaged` or `refused_parameters`
 */
export async function recoverKeyring(value: unknown, code: string): Promise<MasterKey> {
  const keyring = checkedKeyring(value)
  const key = await recoveryKey(code, decoded(keyring.recovery.salt, saltLength))
  const master = await openedBy(key, keyring.recovery, recoveryHeader(keyring, keyring.recovery.salt), keyring)
  if (master === undefined) throw new SealingRefusal('wrong_recovery_code')
  return master
}

/** The private X25519 key of the keyring (32 bytes). @throws SealingRefusal `other_key` or `damaged` */
export async function privateKeyOf(master: MasterKey, value: unknown): Promise<Bytes> {
  const keyring = checkedKeyring(value)
  if (keyring.key_id !== master.keyId) throw new SealingRefusal('other_key')
  const { nonce, sealed } = keyring.private_key
  const key = await sealingKey(master, 'private-key')
  const opened = await decrypted(key, decoded(nonce, nonceLength), decoded(sealed, wrappedLength), wholeHeader(keyring))
  if (opened === undefined) throw new SealingRefusal('damaged')
  return opened
}

/** Both X25519 keys of the keyring. Throws like {@link privateKeyOf}. */
export const keyPairOf = async (master: MasterKey, value: unknown): Promise<KeyPair> => ({
  privateKey: await privateKeyOf(master, value),
  publicKey: decoded(checkedKeyring(value).public_key, keyLength),
})

/**
 * Wraps the same keys with another passphrase. The recovery code remains valid, and entries are unchanged. @throws
 * SealingRefusal `weak_passphrase`
 */
export async function rewrap(value: unknown, master: MasterKey, passphrase: string): Promise<Keyring> {
  const privateKey = await privateKeyOf(master, value)
  const keyring = checkedKeyring(value)
  const { v, key_id, public_key, recovery } = keyring
  const byPassphrase = await wrappedByPassphrase(keyring, master, passphrase)
  return vouchedFor({ v, key_id, public_key, recovery, ...byPassphrase }, master, privateKey)
}

/** Wraps the same keys with a new recovery code. The old code cannot open the new keyring. */
export async function newRecoveryCode(
  value: unknown,
  master: MasterKey,
): Promise<{ keyring: Keyring; recoveryCode: string }> {
  const privateKey = await privateKeyOf(master, value)
  const { private_key: _before, ...rest } = checkedKeyring(value)
  const recoveryCode = newCode()
  const recovery = await wrappedByCode(rest, master, recoveryCode)
  return { keyring: await vouchedFor({ ...rest, recovery }, master, privateKey), recoveryCode }
}

/** The key of private entries, derived from the master key. */
export const entriesKey = (master: MasterKey): Promise<Bytes> => sealingKey(master, 'grimoire')
