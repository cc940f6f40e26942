import { createDecipheriv, createHmac, createPrivateKey, createPublicKey, diffieHellman, hkdfSync } from 'node:crypto'
import { argon2id } from '@noble/hashes/argon2.js'
import { AEAD_AES_128_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from 'hpke'
import { describe, expect, it } from 'vitest'
import { decoded } from './encoding.ts'
import { newKeyPair, sealTo } from './hpke.ts'
import { areCostsGood, costs, decrypted, derived, encrypted, passphraseKey, scriptArgon2id } from './primitives.ts'

const bytes = (hex: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(hex.replace(/\s/g, ''), 'hex'))
const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex')

describe('published test vectors', () => {
  it('Argon2id: RFC 9106, section 5.3', () => {
    const tag = argon2id(new Uint8Array(32).fill(1), new Uint8Array(16).fill(2), {
      t: 3,
      m: 32,
      p: 4,
      dkLen: 32,
      key: new Uint8Array(8).fill(3),
      personalization: new Uint8Array(12).fill(4),
    })
    expect(hex(tag)).toBe('0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659')
  })

  it('passphraseKey returns the same key with Node’s Argon2id as in a browser', async () => {
    const salt = Uint8Array.from({ length: 16 }, (_, at) => at)
    expect(typeof process.getBuiltinModule('node:crypto').argon2).toBe('function')
    const key = await passphraseKey('ﬁve quiet herons é', salt, costs)
    expect(key).toEqual(await scriptArgon2id(new TextEncoder().encode('five quiet herons é'), salt, costs))
    expect(hex(key)).toBe('ac763b082133f77ce2ea30a94961426b7f8630c2cb752b80493943ddfb1baa15')
  })

  it('AES-256-GCM returns the result of test case 16 in the specification of the mode', async () => {
    const key = bytes('feffe9928665731c6d6a8f9467308308 feffe9928665731c6d6a8f9467308308')
    const nonce = bytes('cafebabefacedbaddecaf888')
    const header = bytes('feedfacedeadbeeffeedfacedeadbeefabaddad2')
    const plain = bytes(
      `d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
       1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39`,
    )
    const sealed = await encrypted(key, nonce, plain, header)
    expect(hex(sealed)).toBe(
      hex(
        bytes(
          `522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
           8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
           76fc6ece0f4e1768cddf8853bb2d551b`,
        ),
      ),
    )
    expect(await decrypted(key, nonce, sealed, header)).toEqual(plain)
  })

  it.each([
    [
      '1',
      '0b'.repeat(22),
      '000102030405060708090a0b0c',
      'f0f1f2f3f4f5f6f7f8f9',
      42,
      '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865',
    ],
    [
      '3',
      '0b'.repeat(22),
      '',
      '',
      42,
      '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8',
    ],
  ])('HKDF-SHA256: RFC 5869, case %s', async (_case, secret, salt, info, length, expected) => {
    expect(hex(await derived(bytes(secret), bytes(salt), bytes(info), length))).toBe(expected)
  })

  it('HPKE: RFC 9180, appendix A.1.1, first encryption', async () => {
    const suite = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_128_GCM)
    const plain = await suite.Open(
      await suite.DeserializePrivateKey(bytes('4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8')),
      bytes('37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431'),
      bytes('f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a'),
      { info: bytes('4f6465206f6e2061204772656369616e2055726e'), aad: bytes('436f756e742d30') },
    )
    expect(Buffer.from(plain).toString()).toBe('Beauty is truth, truth beauty')
  })
})

/** Opens HPKE as RFC 9180, sections 4 and 5.1, describes it, without the library: DHKEM(X25519), HKDF-SHA256, AES-256-GCM. */
function openedByTheBook(privateKey: Uint8Array, enc: Buffer, sealed: Buffer, info: Buffer, aad: Buffer): Buffer {
  const two = (value: number) => Buffer.from([value >> 8, value & 255])
  const kem = Buffer.concat([Buffer.from('KEM'), two(0x20)])
  const hpke = Buffer.concat([Buffer.from('HPKE'), two(0x20), two(1), two(2)])
  const version = Buffer.from('HPKE-v1')
  const extract = (salt: Buffer, suite: Buffer, label: string, ikm: Buffer) =>
    createHmac('sha256', salt.length === 0 ? Buffer.alloc(32) : salt)
      .update(Buffer.concat([version, suite, Buffer.from(label), ikm]))
      .digest()
  const expand = (prk: Buffer, suite: Buffer, label: string, context: Buffer, length: number) =>
    createHmac('sha256', prk)
      .update(Buffer.concat([two(length), version, suite, Buffer.from(label), context, Buffer.from([1])]))
      .digest()
      .subarray(0, length)
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b656e04220420', 'hex'), privateKey])
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  const spki = Buffer.from('302a300506032b656e032100', 'hex')
  const theirs = createPublicKey({ key: Buffer.concat([spki, enc]), format: 'der', type: 'spki' })
  const ours = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(spki.length)
  const none = Buffer.alloc(0)
  const shared = expand(
    extract(none, kem, 'eae_prk', diffieHellman({ privateKey: key, publicKey: theirs })),
    kem,
    'shared_secret',
    Buffer.concat([enc, ours]),
    32,
  )
  const context = Buffer.concat([
    Buffer.from([0]),
    extract(none, hpke, 'psk_id_hash', none),
    extract(none, hpke, 'info_hash', info),
  ])
  const secret = extract(shared, hpke, 'secret', none)
  const opening = createDecipheriv(
    'aes-256-gcm',
    expand(secret, hpke, 'key', context, 32),
    expand(secret, hpke, 'base_nonce', context, 12),
  )
  opening.setAAD(aad).setAuthTag(sealed.subarray(-16))
  return Buffer.concat([opening.update(sealed.subarray(0, -16)), opening.final()])
}

describe('compatibility with other implementations', () => {
  it('bytes of sealTo open with a direct implementation of RFC 9180', async () => {
    const { publicKey, privateKey } = await newKeyPair()
    const secret = Uint8Array.from({ length: 32 }, (_, index) => index)
    const sealed = await sealTo(publicKey, secret, { agent: 'agt_1', snapshot: 'snap_1' })
    const plain = openedByTheBook(
      privateKey,
      Buffer.from(decoded(sealed.enc, 32)),
      Buffer.from(decoded(sealed.ciphertext)),
      Buffer.from('knowledgepulse/snapshot-key/v1'),
      Buffer.from('{"agent":"agt_1","snapshot":"snap_1"}'),
    )
    expect(Uint8Array.from(plain)).toEqual(secret)
  })

  it('HKDF returns the same bytes as node:crypto', async () => {
    const secret = crypto.getRandomValues(new Uint8Array(32))
    const salt = crypto.getRandomValues(new Uint8Array(16))
    expect(hex(await derived(secret, salt, 'purpose'))).toBe(
      Buffer.from(hkdfSync('sha256', secret, salt, 'purpose', 32)).toString('hex'),
    )
  })
})

describe('costs of Argon2id', () => {
  it.each([
    [{ m: 65_536, t: 3, p: 1 }, true],
    [{ m: 1_048_576, t: 16, p: 1 }, true],
    [{ m: 65_535, t: 3, p: 1 }, false],
    [{ m: 65_536, t: 2, p: 1 }, false],
    [{ m: 1_048_577, t: 3, p: 1 }, false],
    [{ m: 65_536, t: 17, p: 1 }, false],
    [{ m: 65_536, t: 3, p: 2 }, false],
    [{ m: 65_536.5, t: 3, p: 1 }, false],
    [{ m: Number.NaN, t: 3, p: 1 }, false],
  ])('areCostsGood of %o returns %s', async (given, isGood) => {
    expect(areCostsGood(given)).toBe(isGood)
    if (!isGood)
      await expect(passphraseKey('a passphrase', new Uint8Array(16), given)).rejects.toMatchObject({
        code: 'refused_parameters',
      })
  })
})
