import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from 'hpke'
import { type Bytes, canonical, decoded, encoded, membersOf, utf8 } from './encoding.ts'
import { SealingRefusal } from './sealing-refusal.ts'

/** RFC 9180, base mode. Sender and receiver must use the same suite. */
const suite = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_256_GCM)
export const suiteName = 'DHKEM(X25519,HKDF-SHA256),HKDF-SHA256,AES-256-GCM'

/** Bytes sealed to a public key, in base64url. */
export interface SealedTo {
  suite: typeof suiteName
  enc: string
  ciphertext: string
}
/** The authenticated context: the sealed bytes only open with the same ids. */
export interface Bound {
  agent: string
  snapshot: string
}

const options = (bound: Bound) => ({
  info: utf8('knowledgepulse/snapshot-key/v1'),
  aad: utf8(canonical({ agent: bound.agent, snapshot: bound.snapshot })),
})

/** X25519 keys (RFC 7748), 32 bytes each. */
export interface KeyPair {
  publicKey: Bytes
  privateKey: Bytes
}
export async function newKeyPair(): Promise<KeyPair> {
  const pair = await suite.GenerateKeyPair(true)
  const [publicKey, privateKey] = await Promise.all([
    suite.SerializePublicKey(pair.publicKey),
    suite.SerializePrivateKey(pair.privateKey),
  ])
  return { publicKey: Uint8Array.from(publicKey), privateKey: Uint8Array.from(privateKey) }
}

/** Seals bytes, such as a data key, to the public key of a keyring (32 bytes). The sealing side cannot open them. */
export async function sealTo(publicKey: Uint8Array, plain: Uint8Array, bound: Bound): Promise<SealedTo> {
  const { encapsulatedSecret, ciphertext } = await suite.Seal(
    await suite.DeserializePublicKey(publicKey),
    plain,
    options(bound),
  )
  return { suite: suiteName, enc: encoded(encapsulatedSecret), ciphertext: encoded(ciphertext) }
}

/** Opens bytes of {@link sealTo} with the key pair of the keyring. @throws SealingRefusal `damaged` */
export async function openSealed(pair: KeyPair, sealed: unknown, bound: Bound): Promise<Bytes> {
  const members = membersOf(sealed, ['suite', 'enc', 'ciphertext'])
  if (members.suite !== suiteName) throw new SealingRefusal('damaged')
  const enc = decoded(members.enc, 32)
  const ciphertext = decoded(members.ciphertext)
  const [privateKey, publicKey] = await Promise.all([
    suite.DeserializePrivateKey(pair.privateKey),
    suite.DeserializePublicKey(pair.publicKey),
  ])
  const key = { privateKey, publicKey }
  try {
    return Uint8Array.from(await suite.Open(key, enc, ciphertext, options(bound)))
  } catch {
    throw new SealingRefusal('damaged')
  }
}
