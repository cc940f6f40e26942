import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from 'hpke'
import { type Bytes, canonical, decoded, encoded, membersOf, utf8 } from './encoding.ts'
import { SealingRefusal } from './sealing-refusal.ts'

/** RFC 9180, base mode; both the sender and the receiver need it to be this one. */
const suite = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_256_GCM)
export const suiteName = 'DHKEM(X25519,HKDF-SHA256),HKDF-SHA256,AES-256-GCM'

/** Sealed to a public key; base64url. */
export interface SealedTo {
  suite: typeof suiteName
  enc: string
  ciphertext: string
}
/** What it belongs to, by ids: it opens with the same alone. */
export interface Bound {
  agent: string
  snapshot: string
}

const options = (bound: Bound) => ({
  info: utf8('knowledgepulse/snapshot-key/v1'),
  aad: utf8(canonical({ agent: bound.agent, snapshot: bound.snapshot })),
})

/** X25519 (RFC 7748): 32 bytes each. */
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

/** Seals some bytes, a data key say, to the public key of a keyring (32 bytes). Whoever seals cannot open it. */
export async function sealTo(publicKey: Uint8Array, plain: Uint8Array, bound: Bound): Promise<SealedTo> {
  const { encapsulatedSecret, ciphertext } = await suite.Seal(
    await suite.DeserializePublicKey(publicKey),
    plain,
    options(bound),
  )
  return { suite: suiteName, enc: encoded(encapsulatedSecret), ciphertext: encoded(ciphertext) }
}

/** Opens what {@link sealTo} made, by the key pair of the keyring; throws `damaged`. */
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
