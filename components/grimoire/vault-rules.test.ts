import { expect, test } from 'vitest'
import { newKeyring, fewestSigns as ofSealing } from '#lib/client/sealing/keyring.ts'
import { confidenceIn, fewestSigns, firstWords, idleFor, isIdle, isWeak, tagsIn, wholeText } from './vault-rules.ts'

test('a passphrase is as weak here as where its key is made', async () => {
  expect(fewestSigns).toBe(ofSealing)
  // One sign each, though each takes two units of UTF-16.
  const short = '🦊'.repeat(fewestSigns - 1)
  expect(isWeak(short)).toBe(true)
  await expect(newKeyring(short)).rejects.toMatchObject({ code: 'weak_passphrase' })
  expect(isWeak('🦊'.repeat(fewestSigns))).toBe(false)
  // A ligature that NFKC takes apart is as many signs as it becomes.
  expect(isWeak('ﬃ'.repeat(4))).toBe(false)
})

test('an open grimoire is idle after fifteen minutes, and not before', () => {
  expect(isIdle(1_000, 1_000 + idleFor - 1)).toBe(false)
  expect(isIdle(1_000, 1_000 + idleFor)).toBe(true)
  expect(idleFor).toBe(900_000)
})

test.each([
  ['plain\n text', 'plain text'],
  [{ a: [1, 'b'] }, '{"a":[1,"b"]}'],
  [null, 'null'],
  ['', ''],
])('the first words of %j', (content, words) => {
  expect(firstWords(content)).toBe(words)
})

test('long content is cut between signs, and whole where it is read', () => {
  const long = '🦊'.repeat(200)
  expect(firstWords(long)).toBe(`${'🦊'.repeat(140)}…`)
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
])('confidence typed as %j', (typed, value) => {
  expect(confidenceIn(typed)).toBe(value)
})

test('tags by commas of either script, each once, within what the API takes', () => {
  expect(tagsIn(' gas, 夜间，gas、 fees ,')).toEqual(['gas', '夜间', 'fees'])
  expect(tagsIn('')).toEqual([])
  expect(tagsIn('x'.repeat(65))).toBeUndefined()
  expect(tagsIn(Array.from({ length: 33 }, (_, n) => `t${n}`).join(','))).toBeUndefined()
})
