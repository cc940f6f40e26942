import { describe, expect, it } from 'vitest'
import { NamedSecrets, TooDeep } from './named-secrets.ts'

const stripped = (text: string, length = text.length): string => {
  const fields = new NamedSecrets()
  let out = ''
  for (let from = 0; from < text.length; from += length) out += fields.push(text.slice(from, from + length))
  return out + fields.end()
}

const state = {
  wallet: { private_key: '0xabc', address: '0xdef', 'Wallet-Key': { deep: [1, { x: '}' }] } },
  sessions: [{ sessionToken: 'a "quoted, }" thing', since: 3 }, { session_key: ['a', 'b'] }, 'private_key'],
  note: 'private_key: not a field',
  mnemonic: 17.5,
  last: { cookies: {} },
}

describe('NamedSecrets', () => {
  it.each([1, 2, 3, 7, 10_000])('sets secret fields to null at every depth, in pieces of %i', (length) => {
    for (const text of [JSON.stringify(state), JSON.stringify(state, null, 2)])
      expect(JSON.parse(stripped(text, length))).toEqual({
        wallet: { private_key: null, address: '0xdef', 'Wallet-Key': null },
        sessions: [{ sessionToken: null, since: 3 }, { session_key: null }, 'private_key'],
        note: 'private_key: not a field',
        mnemonic: null,
        last: { cookies: null },
      })
  })

  it('recognises session secrets by the field name, also combined with the name of the parent', () => {
    const tokens = {
      session: { token: 'a', since: 3, venue: 'london' },
      sessions: [{ Token: 'b' }, { jwt: 'c' }],
      auth_token: 'd',
      cookie: 'e',
      keypair: [1, 2, 3],
      headers: { Authorization: 'Bearer f' },
      wallet: { keys: { public: 'g' }, key: 'h', address: 'i' },
      // The token of a position and the key of a map entry are not secrets.
      position: { token: 'USDC', key: 'eth-usdc' },
      rng: { seed: 17 },
    }
    expect(JSON.parse(stripped(JSON.stringify(tokens), 3))).toEqual({
      ...tokens,
      session: { token: null, since: 3, venue: 'london' },
      sessions: [{ Token: null }, { jwt: null }],
      auth_token: null,
      cookie: null,
      keypair: null,
      headers: { Authorization: null },
      wallet: { keys: { public: 'g' }, key: null, address: 'i' },
    })
  })

  it('decodes escapes in names and values', () => {
    const text = String.raw`{"private_k\u0065y":"x","a":"\u0030x12\/\n\"\u0000\ud83d\ude00","b":"\\u0041"}`
    for (const length of [1, 4, text.length])
      expect(stripped(text, length)).toBe(
        String.raw`{"private_key":null,"a":"0x12/\n\"\u0000\ud83d\ude00","b":"\\u0041"}`,
      )
  })

  it('handles concatenated documents and keeps text that is not JSON unchanged', () => {
    expect(stripped('{"mnemonic":"a"}\n{"b":1}\n')).toBe('{"mnemonic":null}\n{"b":1}\n')
    for (const text of ['', 'plain, words: and } more ]', '"open', '{"a": [1, ', '\\'])
      for (const length of [1, 100]) expect(stripped(text, length)).toBe(text)
  })

  it('returns the JSON paths of offsets', () => {
    const text = '{"a":{"b":[1,"two",{"c":"three"}]},"d":"four"}'
    const fields = new NamedSecrets(['two', 'three', 'four'].map((word) => text.indexOf(word)))
    for (const sign of text) fields.push(sign)
    expect(fields.paths).toEqual(['a.b.1', 'a.b.2.c', 'd'])
  })

  it('rejects JSON that is nested too deeply', () => {
    expect(() => stripped('['.repeat(1_001))).toThrow(TooDeep)
  })
})
