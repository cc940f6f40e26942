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
