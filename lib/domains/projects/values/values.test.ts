import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { freeNames } from '#lib/text/layer.ts'
import { Fingerprints, occurrences } from '../words/fingerprints.ts'
import { readable } from './readable.ts'
import { cutStrings, isJson, stringsOf } from './value-decider.ts'

const sentence = 'The cellar of the house is flooded every spring.'

it.each([
  ['gzip', gzipSync(sentence)],
  ['deflate', deflateSync(sentence)],
  ['zstd', zstdCompressSync(Buffer.from(sentence))],
  ['gzip twice', gzipSync(gzipSync(sentence))],
  ['two parts of gzip', Buffer.concat([gzipSync(sentence.slice(0, 9)), gzipSync(sentence.slice(9))])],
  ['two parts of deflate', Buffer.concat([deflateSync(sentence.slice(0, 9)), deflateSync(sentence.slice(9))])],
  ['gzip in Base64', Buffer.from(gzipSync(sentence).toString('base64'))],
  ['UTF-16', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(sentence, 'utf16le')])],
])('readable returns the text of a value in %s', (_name, bytes) => {
  expect(readable(bytes)).toEqual({ form: 'packed', text: sentence })
})
it('readable returns the text of a value in zlib of every level and window', () => {
  for (let level = 0; level <= 9; level++)
    for (let windowBits = 9; windowBits <= 15; windowBits++)
      expect(readable(deflateSync(sentence, { level, windowBits })), `level ${level}, window ${windowBits}`).toEqual({
        form: 'packed',
        text: sentence,
      })
})
it.each(['x^y stays', 'x\u0001', 'hello', 'H\u0089', '8O', '(S'])(
  'readable returns text that may begin as zlib unchanged: %j',
  (text) => {
    expect(readable(Buffer.from(text))).toEqual({ form: 'text', text })
  },
)
it('readable returns plain text within a binary value as binary', () => {
  const found = readable(Buffer.concat([Buffer.from([0x82, 0xa4, 0xff]), Buffer.from(sentence)]))
  expect(found.form).toBe('binary')
  expect(found.text).toContain(sentence)
})
it.each([
  Buffer.from([0x1f, 0x8b, 1, 2, 3]),
  Buffer.from('gAAAAABl'.repeat(20)),
  gzipSync(Buffer.alloc(20 * 1024 * 1024)),
  Buffer.concat([zstdCompressSync(Buffer.from(sentence)), Buffer.from('encrypted')]),
])(
  'readable returns binary for a value that is damaged, encrypted, too large when unpacked or followed by other data',
  (bytes) => {
    expect(readable(bytes).form).toBe('binary')
  },
)

it.each(['{"a":1}', '["x"]', '{"a":1}\n{"b":"x"}\n', '"x"'])('isJson returns true for %j', (text) => {
  expect(isJson(text)).toBe(true)
})
it.each(['{not json}', 'plain', '[2026-01-02] Anna: hello', ''])('isJson returns false for %j', (text) => {
  expect(isJson(text)).toBe(false)
})
it('stringsOf decodes escaped strings, and JSON in strings', () => {
  const text = '{"role":"user","content":"\\u6211\\u4f4f","data":"{\\"said\\":\\"yes\\\\nno\\"}"}'
  const strings = stringsOf(text)
  expect(strings.filter(({ isTechnical }) => !isTechnical).map((one) => one.text)).toEqual(['我住', 'yes\nno'])
})
it('cutStrings leaves the end of a section of XML', () => {
  const text = (own: string) => `<a><![CDATA[${own}]]></a><b><![CDATA[Air the room.]]></b>`
  expect(cutStrings(text(sentence), (one) => occurrences(one, sentence))).toBe(text(''))
  expect(cutStrings(text(`Hi! ${sentence}`), (one) => occurrences(one, sentence))).toBe(text('Hi! '))
})
it('cutStrings cuts one string of a JSON text and keeps every other byte', () => {
  const text = `{ "n": 12345678901234567890, "said": ${JSON.stringify(sentence)},\n "other": "caf\\u00e9" }`
  const cut = cutStrings(text, (one) => occurrences(one, sentence))
  expect(cut).toBe('{ "n": 12345678901234567890, "said": "",\n "other": "caf\\u00e9" }')
})
it.each([
  ['alone', JSON.stringify({ [sentence]: 'You should call a plumber.', other: 'x' })],
  ['with other words', JSON.stringify({ other: 'x', [`The note: ${sentence} Really.`]: ['a plumber'] })],
  ['in a nested value', JSON.stringify({ other: 'x', nested: JSON.stringify({ [sentence]: 'a plumber' }) })],
])('cutStrings returns null if the name of a property contains an erased sentence %s', (_, text) => {
  expect(cutStrings(text, (one) => occurrences(one, sentence))).toBeNull()
})

describe('a name as the name of a property', () => {
  const words = new Fingerprints()
  words.addName('Maria Probe')
  words.addName('María Müller-Probe')
  const cutNames = (text: string) =>
    cutStrings(
      text,
      (one) => words.namesIn(one),
      () => [],
    )
  const ascii = (text: string) =>
    text.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

  it.each([
    [
      'equal names after the cut',
      { 'Maria Probe': 'a', 'MARIA PROBE': 'b', erased: 'c' },
      { 'erased 2': 'a', 'erased 3': 'b', erased: 'c' },
    ],
    [
      'words beside it',
      { 'Maria Probe (doctor)': 'a', 'doctor of Maria Probe': 'b' },
      { '(doctor)': 'a', 'doctor of': 'b' },
    ],
    ['a path', { 'people/Maria Probe/notes': ['a'] }, { 'people/notes': ['a'] }],
    ['nesting', { a: [{ 'Maria Probe': { 'Maria Probe': 'a' } }] }, { a: [{ erased: { erased: 'a' } }] }],
  ])('is cut with %s', (_, value, rest) => {
    expect(JSON.parse(cutNames(JSON.stringify({ said: 'Otto likes blue.', ...value })) ?? '')).toEqual({
      said: 'Otto likes blue.',
      ...rest,
    })
  })

  it('is numbered in linear time if many names become equal', () => {
    const taken = new Set(['erased', 'erased 3'])
    let reads = 0
    const free = freeNames((one) => {
      reads += 1
      return taken.has(one)
    })
    for (let n = 0; n < 4_000; n++) taken.add(free('erased'))
    expect(taken.size).toBe(4_002)
    expect(reads).toBeLessThan(10_000)
  })

  it('is cut from any valid JSON, and every value remains', () => {
    const name = fc.constantFrom('Maria Probe', 'MARIA PROBE', 'María Müller-Probe', 'maria probe', 'Maria  Probe')
    const property = fc.oneof(
      name,
      fc.constantFrom('erased', 'erased 2', 'note', 'id', 'x y', ''),
      fc
        .tuple(fc.constantFrom('to ', 'Re: ', ''), name, fc.constantFrom(' (cousin)', '/2', ''))
        .map((parts) => parts.join('')),
    )
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.integer({ min: 1_000, max: 9_999 }).map((n) => `Otto keeps goat number ${n}.`),
        fc.dictionary(property, tie('value'), { maxKeys: 5 }),
        fc.array(tie('value'), { maxLength: 3 }),
      ),
    }))
    const leaves = (one: unknown): unknown[] =>
      typeof one === 'object' && one !== null ? Object.values(one).flatMap(leaves) : [one]
    const layouts: ((text: string) => string)[] = [
      (text) => text,
      ascii,
      (text) => JSON.stringify({ said: 'Otto likes blue.', nested: text }),
    ]
    fc.assert(
      fc.property(
        fc.dictionary(property, value, { minKeys: 1, maxKeys: 5 }),
        fc.constantFrom(...layouts),
        (one, layout) => {
          const text = layout(JSON.stringify({ said: 'Otto likes blue.', ...one }))
          const cut = cutNames(text)
          if (cut === null) throw new Error('nothing remains')
          expect(words.namesIn(cut)).toEqual([])
          const read = JSON.parse(cut)
          const inner = typeof read.nested === 'string' && layout === layouts[2] ? JSON.parse(read.nested) : read
          expect(leaves(inner).sort()).toEqual(leaves({ said: 'Otto likes blue.', ...one }).sort())
        },
      ),
      { seed: 32, numRuns: 150 },
    )
  })
})
