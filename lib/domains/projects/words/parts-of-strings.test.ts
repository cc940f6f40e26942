import { describe, expect, it } from 'vitest'
import { cutFrom } from './derived-text.ts'
import { Fingerprints, mergeSpans } from './fingerprints.ts'

const erased = 'Mädchen fever began in April "and" the clinic kept me for nine days'
const fingerprints = new Fingerprints()
fingerprints.add(erased)
const chunks = (text: string, size: number) => text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
const cut = (text: string) => cutFrom(text, mergeSpans(fingerprints.runsIn(text)))

describe('a string in several parts', () => {
  it.each([
    ['in the middle', `alpha ups^ilon ${erased} omega and more`],
    ['at its beginning', `${erased} omega and more of it`],
    ['at its end', `alpha ups^ilon ${erased}`],
  ])('remains a program when words %s are cut', (_name, words) => {
    const text = `const x = ${chunks(words, 20)
      .map((part) => JSON.stringify(part))
      .join(' +\n  ')};`
    const [, value = ''] = /^const x = ([\s\S]*);$/.exec(cut(text) ?? '') ?? []
    const parts = value.split(/ *\+\s+/).map((part) => JSON.parse(part))
    expect(parts).toHaveLength(chunks(words, 20).length)
    expect(fingerprints.runsIn(parts.join(''))).toEqual([])
    expect(parts.join('')).toContain(words.replace(erased, '').trim().slice(0, 8))
  })
  it('does not keep formatting that words elsewhere in the same text have', () => {
    const formatted = erased.replace('fever', '**fever**').replace('clinic', 'clin**ic**')
    expect(cut(`'said ' + 'x'\nMy ${formatted} omega more`)).toMatch(/^'said ' \+ 'x'\nMy +omega more$/)
  })
})
describe('literals beside an escape that is no encoding', () => {
  const words = 'my fever came back after lunch and it stayed for nine days straight'
  const rows = words.split(' ').map((word, at) => `(${at}, 'user', '${word}')`)
  it.each([
    String.raw`C:\Users\rita\db.sqlite: [${[...rows, String.raw`(13, 'user', 'a\nb')`].join(', ')}]`,
    String.raw`C:\new\logs> [${[...rows, String.raw`(99, 'x', 'it\'s')`].join(', ')}]`,
    String.raw`[${[...rows, String.raw`(13, 'user', 'a\nb')`].join(', ')}]\n`,
  ])('are read in %s', (text) => {
    const found = new Fingerprints()
    found.add(words)
    expect(found.runsIn(text)).toHaveLength(8)
  })
})

describe('an attribute of a page', () => {
  const other = 'lantern Friday river morning bitter window basement'
  const attribute = (value: string) => `<div data-props="${value.replaceAll('"', '&quot;')}"></div>`
  it('keeps the words of others when words are cut from it', () => {
    expect(cut(attribute(JSON.stringify({ a: `${erased}. ${other}.` })))).toBe(
      attribute(JSON.stringify({ a: `${other}.` })),
    )
  })
  it('is deleted with its element when nothing of others is in it', () => {
    expect(cut(attribute(JSON.stringify({ a: erased })))).toBeNull()
  })
})

describe('bytes in a string of JSON', () => {
  const other = 'lantern Friday river morning bitter window basement'
  const others = new Fingerprints()
  others.add(other)
  const bytes = Buffer.from(`${erased}. ${other}. `.repeat(2))
  const hex = (from: number) =>
    Array.from(bytes.subarray(from, from + 16), (byte) => byte.toString(16).padStart(2, '0')).join(' ')
  const offsets = Array.from({ length: Math.ceil(bytes.length / 16) }, (_, at) => at * 16)
  const printable = (from: number) =>
    bytes
      .subarray(from, from + 16)
      .toString('latin1')
      .replaceAll(/[^ -~]/g, '.')
  const offset = (from: number) => from.toString(16).padStart(8, '0')
  it.each([
    ['a record of bytes', JSON.stringify(Object.fromEntries(bytes.entries()))],
    ['hexdump -C', offsets.map((from) => `${offset(from)}  ${hex(from).padEnd(48)} |${printable(from)}|`).join('\n')],
    ['hexadecimal in lines', chunks(bytes.toString('hex'), 60).join('\n')],
    ['Base64 in lines', chunks(bytes.toString('base64'), 76).join('\r\n')],
    [
      'an array over lines',
      `[\n${chunks([...bytes].map((byte) => `0x${byte.toString(16)}`).join(', '), 60).join('\n')}\n]`,
    ],
  ])('remain valid when words are cut from %s', (_, text) => {
    for (const depth of [1, 2]) {
      let value = JSON.stringify({ message: `see ${text}`, user: 'bob' })
      if (depth === 2) value = JSON.stringify({ log: value, 'user-id': 7 })
      const rest = cut(value) ?? ''
      let read = JSON.parse(rest)
      if (depth === 2) read = JSON.parse(read.log)
      expect(read.user).toBe('bob')
      expect(fingerprints.runsIn(rest)).toEqual([])
      expect(others.runsIn(rest).length, `words of others in ${_}`).toBeGreaterThan(0)
    }
  })
})
