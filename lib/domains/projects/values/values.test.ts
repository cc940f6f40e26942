import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { occurrences } from '../words/fingerprints.ts'
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
it('cutStrings cuts one string of a JSON text and keeps every other byte', () => {
  const text = `{ "n": 12345678901234567890, "said": ${JSON.stringify(sentence)},\n "other": "caf\\u00e9" }`
  const cut = cutStrings(text, (one) => occurrences(one, sentence))
  expect(cut).toBe('{ "n": 12345678901234567890, "said": "",\n "other": "caf\\u00e9" }')
})
it('cutStrings returns null when a property name would have to be cut', () => {
  const key = JSON.stringify({ [sentence]: 1, other: 'x' })
  expect(cutStrings(key, (one) => occurrences(one, sentence))).toBeNull()
})
