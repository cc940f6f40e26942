import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { decoded, encoded } from './encoding.ts'
import {
  type EntryContent,
  type EntryHead,
  type Envelope,
  largestEntry,
  openEntry,
  paddingStep,
  sealEntry,
} from './entry.ts'
import { openSealed, sealTo } from './hpke.ts'
import {
  type Keyring,
  keyPairOf,
  type MasterKey,
  newCode,
  newKeyring,
  newRecoveryCode,
  newSealingId,
  openKeyring,
  privateKeyOf,
  recoverKeyring,
  rewrap,
  secretOf,
} from './keyring.ts'
import { SealingRefusal } from './sealing-refusal.ts'

// Argon2id is slow, especially on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })
afterAll(() => vi.resetConfig())

const passphrase = 'four horses under a Wal̂nut tree'
let keyring: Keyring
let master: MasterKey
let recoveryCode: string
beforeAll(async () => {
  const made = await newKeyring(passphrase)
  keyring = made.keyring
  master = made.masterKey
  recoveryCode = made.recoveryCode
})

const head: EntryHead = {
  id: newSealingId('ent'),
  agent: 'agt_0123456789abcdefghijkl',
  kind: 'insight',
  scope: 'private',
}
const entry: EntryContent = {
  content: { claim: 'Spreads widen before the fixing.', seen: [3, 5, 8] },
  confidence: 0.8,
  tags: ['spreads', 'fixing'],
  provenance: { units: ['ku_1'] },
  parents: ['ent_a'],
  valid_from: '2026-01-02T03:04:05.000Z',
  valid_until: null,
}
const refusal = (code: string) => expect.objectContaining({ name: 'SealingRefusal', code })
/** Pseudo-random integers below `bound` (mulberry32). */
function numbers(seed: number) {
  let state = seed
  return (bound: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}
const withBit = (bytes: Uint8Array, bit: number): Uint8Array => {
  const flipped = Uint8Array.from(bytes)
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return flipped
}
const textWithBit = (text: string, bit: number): string =>
  Buffer.from(withBit(Buffer.from(text), bit)).toString('latin1')

describe('keyring', () => {
  it('opens to the same key with the passphrase and with the recovery code', async () => {
    expect((await openKeyring(JSON.parse(JSON.stringify(keyring)), passphrase)).bytes).toEqual(master.bytes)
    expect((await recoverKeyring(keyring, recoveryCode)).bytes).toEqual(master.bytes)
    expect((await recoverKeyring(keyring, ` ${recoveryCode.toLowerCase().replace(/-/g, ' ')}`)).bytes).toEqual(
      master.bytes,
    )
  })

  it('accepts a passphrase in another Unicode form', async () => {
    expect((await openKeyring(keyring, passphrase.normalize('NFD'))).bytes).toEqual(master.bytes)
  })

  it('rejects a wrong passphrase and a weak one', async () => {
    await expect(openKeyring(keyring, `${passphrase}.`)).rejects.toEqual(refusal('wrong_passphrase'))
    await expect(newKeyring('eleven sign')).rejects.toEqual(refusal('weak_passphrase'))
  })

  it('changes the passphrase without changing entries or the recovery code', async () => {
    const envelope = await sealEntry(master, head, entry)
    const changed = await rewrap(keyring, master, 'another passphrase altogether')
    expect(changed.key_id).toBe(keyring.key_id)
    expect(changed.public_key).toBe(keyring.public_key)
    await expect(openKeyring(changed, passphrase)).rejects.toEqual(refusal('wrong_passphrase'))
    const opened = await openKeyring(changed, 'another passphrase altogether')
    expect(await openEntry(opened, head, envelope)).toEqual(entry)
    expect((await recoverKeyring(changed, recoveryCode)).bytes).toEqual(master.bytes)
    expect(await privateKeyOf(opened, changed)).toEqual(await privateKeyOf(master, keyring))
  })

  it('replaces the recovery code', async () => {
    const replaced = await newRecoveryCode(keyring, master)
    await expect(recoverKeyring(replaced.keyring, recoveryCode)).rejects.toEqual(refusal('wrong_recovery_code'))
    expect((await recoverKeyring(replaced.keyring, replaced.recoveryCode)).bytes).toEqual(master.bytes)
  })

  it('rejects other costs, properties and encodings before deriving a key', async () => {
    const others: [unknown, string][] = [
      [{ ...keyring, kdf: { ...keyring.kdf, m: 1024 } }, 'refused_parameters'],
      [{ ...keyring, kdf: { ...keyring.kdf, m: 2 ** 22 } }, 'refused_parameters'],
      [{ ...keyring, kdf: { ...keyring.kdf, t: 1 } }, 'refused_parameters'],
      [{ ...keyring, kdf: { ...keyring.kdf, t: 1000 } }, 'refused_parameters'],
      [{ ...keyring, kdf: { ...keyring.kdf, name: 'argon2i' } }, 'damaged'],
      [{ ...keyring, v: 2 }, 'damaged'],
      [{ ...keyring, note: 'x' }, 'damaged'],
      [{ ...keyring, public_key: `${keyring.public_key}=` }, 'damaged'],
      [{ ...keyring, passphrase: { ...keyring.passphrase, nonce: 'AAAA' } }, 'damaged'],
      [null, 'damaged'],
      [[], 'damaged'],
    ]
    for (const [ring, code] of others) {
      await expect(openKeyring(ring, passphrase)).rejects.toEqual(refusal(code))
      await expect(privateKeyOf(master, ring)).rejects.toEqual(refusal(code))
    }
    const { private_key: _left, ...less } = keyring
    await expect(openKeyring(less, passphrase)).rejects.toEqual(refusal('damaged'))
  })

  it('is rejected when any bit was flipped', async () => {
    const next = numbers(7)
    const places: [keyof Keyring, string][] = [
      ['kdf', 'salt'],
      ['passphrase', 'nonce'],
      ['passphrase', 'wrapped'],
      ['recovery', 'salt'],
      ['recovery', 'nonce'],
      ['recovery', 'wrapped'],
      ['private_key', 'nonce'],
      ['private_key', 'sealed'],
    ]
    let refused = 0
    for (let time = 0; time < 2_000; time++) {
      const ring = structuredClone(keyring)
      const place = places[time % (places.length + 1)]
      if (place === undefined) {
        const bytes = decoded(ring.public_key, 32)
        ring.public_key = encoded(withBit(bytes, next(256)))
      } else {
        const part: Record<string, unknown> = Object(ring[place[0]])
        const bytes = decoded(part[place[1]])
        part[place[1]] = encoded(withBit(bytes, next(bytes.length * 8)))
      }
      // The master key is known here: the sealed private key authenticates the whole keyring.
      await privateKeyOf(master, ring).catch((error: unknown) => {
        expect(error).toEqual(refusal('damaged'))
        refused++
      })
    }
    expect(refused).toBe(2_000)
    for (const [part, member] of places.slice(3, 6)) {
      const ring = structuredClone(keyring)
      const inner: Record<string, unknown> = Object(ring[part])
      inner[member] = encoded(withBit(decoded(inner[member]), 9))
      await expect(recoverKeyring(ring, recoveryCode)).rejects.toEqual(refusal('wrong_recovery_code'))
    }
    const ring = { ...keyring, key_id: newSealingId('key') }
    await expect(recoverKeyring(ring, recoveryCode)).rejects.toEqual(refusal('wrong_recovery_code'))
    await expect(privateKeyOf(master, ring)).rejects.toEqual(refusal('other_key'))
  })
})

describe('recovery code', () => {
  const expectMistyped = (code: string) => expect(() => secretOf(code)).toThrow(refusal('mistyped_recovery_code'))

  it('detects every single wrong character and every swap of neighbours', () => {
    const code = newCode().replace(/-/g, '')
    const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
    for (let index = 0; index < code.length; index++) {
      for (const sign of alphabet) {
        if (sign === code[index]) continue
        expectMistyped(code.slice(0, index) + sign + code.slice(index + 1))
      }
      const [left, right] = [code.charAt(index), code.charAt(index + 1)]
      if (right !== '' && left !== right && index !== 25)
        expectMistyped(code.slice(0, index) + right + left + code.slice(index + 2))
    }
  })

  it('has 130 random bits in groups of four, and accepts O for 0 and I, L for 1', () => {
    const code = newCode()
    expect(code).toMatch(/^([0-9A-Z]{4}-){6}[0-9A-Z]{4}$/)
    expect(new Set(Array.from({ length: 1_000 }, newCode)).size).toBe(1_000)
    expect(secretOf(code.replace(/0/g, 'o').replace(/1/g, 'l'))).toBe(secretOf(code))
    for (const wrong of ['', 'x', `${code}0`, code.slice(1), `${code.slice(0, -1)}U`, `${code.slice(0, -1)}é`])
      expectMistyped(wrong)
  })
})

describe('entry', () => {
  it('opens to the sealed content, and each ciphertext differs', async () => {
    const envelope = await sealEntry(master, head, entry)
    expect(await openEntry(master, head, JSON.parse(JSON.stringify(envelope)))).toEqual(entry)
    expect((await sealEntry(master, head, entry)).ciphertext).not.toBe(envelope.ciphertext)
  })

  it('reveals its length only in padding steps, and has a size limit', async () => {
    const lengths = new Set<number>()
    for (let length = 0; length < 600; length += 7) {
      const envelope = await sealEntry(master, head, { ...entry, content: 'x'.repeat(length) })
      lengths.add(decoded(envelope.ciphertext).length)
    }
    expect([...lengths].every((length) => (length - 16) % paddingStep === 0)).toBe(true)
    expect(lengths.size).toBeLessThan(5)
    const max = { ...entry, content: 'x'.repeat(largestEntry - 400) }
    expect(await openEntry(master, head, await sealEntry(master, head, max))).toEqual(max)
    await expect(sealEntry(master, head, { ...entry, content: 'x'.repeat(largestEntry) })).rejects.toEqual(
      refusal('too_large'),
    )
  })

  it('is rejected with another key', async () => {
    const envelope = await sealEntry(master, head, entry)
    const other: MasterKey = { keyId: newSealingId('key'), bytes: crypto.getRandomValues(new Uint8Array(32)) }
    await expect(openEntry(other, head, envelope)).rejects.toEqual(refusal('other_key'))
    await expect(openEntry({ ...other, keyId: master.keyId }, head, envelope)).rejects.toEqual(refusal('damaged'))
    await expect(openEntry(other, head, { ...envelope, key_id: other.keyId })).rejects.toEqual(refusal('damaged'))
  })

  it('is rejected in 10,000 of 10,000 cases with one bit flipped in header, nonce, ciphertext, tag or associated data', async () => {
    const envelope = await sealEntry(master, head, entry)
    const next = numbers(20_261_122)
    const ciphertext = decoded(envelope.ciphertext)
    const nonce = decoded(envelope.nonce)
    const flips: (() => { head: EntryHead; envelope: unknown })[] = [
      () => ({ head, envelope: { ...envelope, nonce: encoded(withBit(nonce, next(nonce.length * 8))) } }),
      () => ({
        head,
        envelope: { ...envelope, ciphertext: encoded(withBit(ciphertext, next((ciphertext.length - 16) * 8))) },
      }),
      () => ({
        head,
        envelope: { ...envelope, ciphertext: encoded(withBit(ciphertext, (ciphertext.length - 16) * 8 + next(128))) },
      }),
      // Flip bits in the JSON text of the envelope: names, quotes, version, key id and base64url characters.
      () => {
        const text = JSON.stringify(envelope)
        const flipped = textWithBit(text, next(text.length * 8))
        let value: unknown = flipped
        try {
          value = JSON.parse(flipped)
        } catch {}
        return { head, envelope: value }
      },
      () => ({ head: { ...head, id: textWithBit(head.id, next(head.id.length * 8)) }, envelope }),
      () => ({ head: { ...head, agent: textWithBit(head.agent, next(head.agent.length * 8)) }, envelope }),
      () => ({ head: Object({ ...head, kind: textWithBit(head.kind, next(head.kind.length * 8)) }), envelope }),
      () => ({ head: Object({ ...head, scope: textWithBit(head.scope, next(head.scope.length * 8)) }), envelope }),
    ]
    let refused = 0
    for (let time = 0; time < 10_000; time++) {
      const flip = flips[time % flips.length]
      if (flip === undefined) throw new Error('no flip')
      const given = flip()
      await openEntry(master, given.head, given.envelope).catch((error: unknown) => {
        expect(error).toBeInstanceOf(SealingRefusal)
        refused++
      })
    }
    expect(refused).toBe(10_000)
    expect(await openEntry(master, head, envelope)).toEqual(entry)
  })

  it('rejects values that are not envelopes', async () => {
    const envelope = await sealEntry(master, head, entry)
    const others: unknown[] = [
      null,
      'text',
      { ...envelope, v: 2 },
      { ...envelope, more: 1 },
      { ...envelope, ciphertext: '' },
      { ...envelope, ciphertext: `${envelope.ciphertext}=` },
      { ...envelope, nonce: `${envelope.nonce}A` },
      { key_id: envelope.key_id },
    ]
    for (const other of others) await expect(openEntry(master, head, other)).rejects.toEqual(refusal('damaged'))
  })

  it('is rejected under another id, agent or kind', async () => {
    const envelope: Envelope = await sealEntry(master, head, entry)
    for (const moved of [
      { ...head, id: newSealingId('ent') },
      { ...head, agent: 'agt_another' },
      { ...head, kind: 'warning' as const },
    ])
      await expect(openEntry(master, moved, envelope)).rejects.toEqual(refusal('damaged'))
  })
})

describe('bytes sealed to the keyring', () => {
  const bound = { agent: head.agent, snapshot: 'snap_0123456789abcdefghijkl' }
  it('open only with the private key and the same ids', async () => {
    const secret = crypto.getRandomValues(new Uint8Array(32))
    const sealed = await sealTo(decoded(keyring.public_key, 32), secret, bound)
    const key = await keyPairOf(master, keyring)
    expect(await openSealed(key, JSON.parse(JSON.stringify(sealed)), bound)).toEqual(secret)
    await expect(openSealed(key, sealed, { ...bound, snapshot: 'snap_b' })).rejects.toEqual(refusal('damaged'))
    await expect(openSealed(key, sealed, { ...bound, agent: 'agt_b' })).rejects.toEqual(refusal('damaged'))
    for (let bit = 0; bit < 8 * 48; bit += 5) {
      const ciphertext = encoded(withBit(decoded(sealed.ciphertext), bit))
      await expect(openSealed(key, { ...sealed, ciphertext }, bound)).rejects.toEqual(refusal('damaged'))
    }
    for (let bit = 0; bit < 256; bit += 5)
      await expect(
        openSealed(key, { ...sealed, enc: encoded(withBit(decoded(sealed.enc), bit)) }, bound),
      ).rejects.toEqual(refusal('damaged'))
    await expect(openSealed(key, { ...sealed, suite: 'x' }, bound)).rejects.toEqual(refusal('damaged'))
  })
})
