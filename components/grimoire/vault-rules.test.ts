import { expect, test } from 'vitest'
import { newKeyring, fewestPassphraseCharacters as ofSealing } from '#lib/client/sealing/keyring.ts'
import {
  confidenceIn,
  idleFor,
  isIdle,
  isWeak,
  shortestPassphrase,
  shortTextOf,
  tagsIn,
  wholeText,
} from './vault-rules.ts'

test('isWeak agrees with newKeyring about the shortest accepted passphrase', async () => {
  expect(shortestPassphrase).toBe(ofSealing)
  // Each fox is one character but two UTF-16 units.
  const short = '🦊'.repeat(shortestPassphrase - 1)
  expect(isWeak(short)).toBe(true)
  await expect(newKeyring(short)).rejects.toMatchObject({ code: 'weak_passphrase' })
  expect(isWeak('🦊'.repeat(shortestPassphrase))).toBe(false)
  // NFKC expands this ligature to three characters, and each of them counts.
  expect(isWeak('ﬃ'.repeat(4))).toBe(false)
})

test('isIdle returns true after fifteen minutes and false before', () => {
  expect(isIdle(1_000, 1_000 + idleFor - 1)).toBe(false)
  expect(isIdle(1_000, 1_000 + idleFor)).toBe(true)
  expect(idleFor).toBe(900_000)
})

test.each([
  ['plain\n text', 'plain text'],
  [{ a: [1, 'b'] }, '{"a":[1,"b"]}'],
  [null, 'null'],
  ['', ''],
])('firstWords returns one line of text for %j', (content, words) => {
  expect(shortTextOf(content)).toBe(words)
})

test('firstWords cuts long content between characters and wholeText keeps it whole', () => {
  const long = '🦊'.repeat(200)
  expect(shortTextOf(long)).toBe(`${'🦊'.repeat(140)}…`)
  expect(wholeText(long)).toBe(long)
  expect(wholeText({ a: 1 })).toBe('{\n  "a": 1\n}')
})

test.each([
  ['', null],
  [' 0 ', 0],
  ['0,75', 0.75],
  ['1', 1],
  ['1.01', undefined],
  ['-0.1', undefined],
  ['sure', undefined],
])('confidenceIn parses %j', (typed, value) => {
  expect(confidenceIn(typed)).toBe(value)
})

test('tagsIn splits at Latin and Chinese commas, removes duplicates and enforces the limits of the API', () => {
  expect(tagsIn(' gas, 夜间，gas、 fees ,')).toEqual(['gas', '夜间', 'fees'])
  expect(tagsIn('')).toEqual([])
  expect(tagsIn('x'.repeat(65))).toBeUndefined()
  expect(tagsIn(Array.from({ length: 33 }, (_, n) => `t${n}`).join(','))).toBeUndefined()
})
