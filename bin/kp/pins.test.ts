import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { PublicKey } from '#lib/domains/erasure/receipts/signing.ts'
import { compareKeys, extendedPins, readPin, registryName, writePin } from './pins.ts'

const folder = mkdtempSync(join(tmpdir(), 'kp-pins-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const key = (kid: string, x = `x of ${kid}`): PublicKey => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x,
  kid,
  alg: 'EdDSA',
  use: 'sig',
})
const [one, two, three] = [key('one'), key('two'), key('three')]

describe('compareKeys', () => {
  test.each([
    ['the same keys in another order', [one, two], [two, one], 'same'],
    ['a rotation', [one], [two, one], 'extended'],
    ['a key removed after seven years', [one, two], [two], 'same'],
    ['one key removed and another added', [one, two], [three, two], 'extended'],
    ['a known id with other bytes', [one, two], [key('one', 'forged'), two], 'altered'],
    ['a known id offered twice', [one], [one, key('one', 'forged')], 'altered'],
    ['no known key', [one, two], [three], 'vanished'],
    ['no key', [one], [], 'vanished'],
  ])('classifies %s', (_, pinned, offered, verdict) => expect(compareKeys(pinned, offered).verdict).toBe(verdict))

  test('extended keeps every pinned key', () => {
    const { added } = compareKeys([one, two], [three, two])
    expect(extendedPins([one, two], added)).toEqual([three, one, two])
  })
})

describe('registries', () => {
  test.each([
    ['http://localhost:3000', 'http://127.0.0.1:3000/', true],
    ['http://localhost:3000', 'http://[::1]:3000', true],
    ['https://kp.example.org', 'https://kp.example.org:443/', true],
    ['http://localhost:3000', 'http://localhost:3001', false],
    ['https://kp.example.org', 'https://kp.example.org.evil.example', false],
    ['https://example.org/a', 'https://example.org/b', false],
  ])('registryName returns the same name for %s and %s: %s', (a, b, isOne) =>
    expect(registryName(a) === registryName(b)).toBe(isOne),
  )

  test('readPin finds a pin by every name of its registry, and by no other', () => {
    writePin(folder, { url: 'http://localhost:3000', pinned_at: '2026-03-01T00:00:00.000Z', keys: [one] })
    expect(readPin(folder, 'http://127.0.0.1:3000/')?.keys).toEqual([one])
    expect(readPin(folder, 'http://localhost:3001')).toBeUndefined()
    writePin(folder, { url: 'https://example.org/a_b', pinned_at: '2026-03-01T00:00:00.000Z', keys: [two] })
    expect(readPin(folder, 'https://example.org/a/b')).toBeUndefined() // another registry with the same file name
  })
})
