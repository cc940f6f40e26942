import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { distance } from './paging.ts'
import { parseQuery } from './query.ts'
import { snippetOf } from './snippet.ts'
import { eachWord, longestWord, searchVector, searchWordsOf, type WeightedText } from './words.ts'

const places = (text: string) => {
  const found: { word: string; start: number; end: number }[] = []
  eachWord(text, (word, start, end) => found.push({ word, start, end }))
  return found
}
/** Text of any kind, including typical output of people and programs. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          'readFile',
          'snake_case',
          'naïve',
          '构建失败',
          'コンパイラ',
          'ภาษาไทย',
          '\u0301',
          '\ud83e\udd8a',
          "don't",
          '—',
          '\0',
          "'",
          '\\',
          ':',
        ),
        fc.string({ maxLength: 4 }),
      ),
    )
    .map((parts) => parts.join('')),
)

describe('words', () => {
  it.each([
    ['readFile', ['read', 'file', 'readfil']],
    ['HTTPServer2', ['http', 'server2', 'httpserver2']],
    ['os.path.join', ['os', 'path', 'join']],
    ['missing_colon.py', ['miss', 'colon', 'missingcolon', 'py']],
    ['__init__', ['init']],
    ['6d961dbbe7e99e7f', ['6d961dbbe7e99e7f']],
    ['Builds BUILDING built', ['build', 'built']],
    ['naïve CAFÉ Straße ŁÓDŹ', ['naiv', 'cafe', 'strass', 'lodz']],
    ['ＡＢＣ ﬁle ①', ['abc', 'file', '1']],
    ['构建失败', ['构', '构建', '建', '建失', '失', '失败', '败']],
    ['用npm构建', ['用', 'npm', '构', '构建', '建']],
    ['“quoted”—dash…', ['quot', 'dash']],
  ])('searchWordsOf returns the words of %s', (text, words) => expect(searchWordsOf(text)).toEqual(words))

  it('have correct offsets, in order, within the text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        let last = 0
        for (const { word, start, end } of places(text)) {
          expect(word).not.toBe('')
          expect(word.length).toBeLessThanOrEqual(longestWord * 2)
          expect(start).toBeGreaterThanOrEqual(last)
          expect(end).toBeGreaterThan(start)
          expect(end).toBeLessThanOrEqual(text.length)
          last = start
        }
      }),
    )
  })

  it('are equal for upper and lower case, composed and decomposed letters, and next to other words', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'abcxyzäöéñçжйωβ'), minLength: 1 }), (text) => {
        expect(searchWordsOf(text.normalize('NFD'))).toEqual(searchWordsOf(text))
        expect(searchWordsOf(text.toUpperCase())).toEqual(searchWordsOf(text))
        expect(searchWordsOf(`before ${text}, after`)).toEqual([...new Set(['befor', ...searchWordsOf(text), 'after'])])
      }),
    )
  })

  it('contain no character with a meaning in a tsvector or tsquery', () => {
    expect(searchWordsOf('㈠㈡ 一㈠')).toEqual(['一', '二'])
    fc.assert(fc.property(anyText, (text) => searchWordsOf(text).every((word) => !/['\\:&|!()<>*\s\0]/.test(word))))
  })

  it('every piece of Chinese is found in a text that contains it', () => {
    const han = fc.string({
      unit: fc.constantFrom(...'构建失败因为锁文件过期服务器编译的了'),
      minLength: 1,
      maxLength: 12,
    })
    fc.assert(
      fc.property(han, han, han, (before, word, after) => {
        const words = new Set(searchWordsOf(before + word + after))
        expect(parseQuery(word).terms.every((term) => term.words.every((one) => words.has(one)))).toBe(true)
      }),
    )
  })

  it.each([
    ['one letter', 'a'],
    ['capitals in turn', 'aB'],
    ['underscores', '_'],
    ['Chinese', '构'],
    ['Thai', 'ก'],
    ['accents', 'é'],
    ['marks', '\u0301'],
    ['emoji', '🦊'],
    ['halves of characters', '\ud800'],
  ])('of two million characters of %s take little time', (_what, unit) => {
    const text = unit.repeat(2_000_000 / unit.length)
    const vector = searchVector([{ weight: 'D', text }])
    expect(Buffer.byteLength(vector)).toBeLessThan(1_000)
  })
})

describe('vectors', () => {
  it('contain every word once with its positions and weights, high weights first', () => {
    const vector = searchVector([
      { weight: 'D', text: 'linker slow linker' },
      { weight: 'A', text: 'The linker' },
    ])
    expect(vector.trim().split(' ').sort()).toEqual(['linker:3A,5,7', 'slow:6', 'the:2A'])
  })

  it('stay within PostgreSQL’s limits for any input', () => {
    const text = Array.from({ length: 400_000 }, (_, n) => `word${n.toString(36)}`).join(' ')
    const vector = searchVector([
      { weight: 'D', text },
      { weight: 'A', text: 'objective' },
    ])
    expect(vector.length).toBeLessThan(3_000_000)
    expect(vector).toContain('object:2A')
    expect(Math.max(...[...vector.matchAll(/:(\d+)/g)].map(([, place]) => Number(place)))).toBeLessThanOrEqual(16_383)
  })
})

describe('queries', () => {
  it('omit stop words unless there are no others', () => {
    const words = (text: string) => parseQuery(text).terms.map(({ query }) => query)
    expect(words('how do I fix the build')).toEqual(["'fix'", "'build'"])
    expect(words('the')).toEqual(["'the'"])
    expect(words('构建失败的原因')).toEqual(["'构建'", "'失败'", "'原因'"])
    expect(words('readFile')).toEqual(["('readfil' | ('read' & 'file'))"])
    expect(words('kp:trace:abc-def')).toEqual(["'abc'", "'def'"])
    expect(parseQuery('"lock file" package.json').phrases).toEqual(["'lock' <-> 'file'", "'packag' <-> 'json'"])
  })

  it('stay small and well-formed for any input', () => {
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 30 }), (parts) => {
        const { terms, phrases } = parseQuery(parts.join(' '))
        expect(terms.reduce((all, { words }) => all + words.length, 0)).toBeLessThanOrEqual(24)
        expect(phrases.length).toBeLessThanOrEqual(4)
        for (const { query } of terms) expect(query).toMatch(/^[(]?'[^'\\]+'( [&|] [(]?'[^'\\]+')*[)]*$/)
      }),
    )
  })
})

describe('snippets', () => {
  const weighted = fc.array(
    fc.record({ weight: fc.constantFrom('A', 'D'), text: anyText }) as fc.Arbitrary<WeightedText>,
    { maxLength: 4 },
  )

  it('highlight words of the query, in order, within a short part of the text', () => {
    fc.assert(
      fc.property(weighted, anyText, (texts, asked) => {
        const { terms } = parseQuery(asked)
        const wanted = new Set(terms.flatMap(({ words, beside }) => [...words, ...beside]))
        const { text, highlights } = snippetOf([...texts, { weight: 'D', text: `x ${asked} y` }], terms)
        expect(text.length).toBeLessThanOrEqual(240)
        let last = 0
        for (const { start, end } of highlights) {
          expect(start).toBeGreaterThanOrEqual(last)
          expect(end).toBeGreaterThan(start)
          expect(end).toBeLessThanOrEqual(text.length)
          expect(searchWordsOf(text.slice(start, end)).some((word) => wanted.has(word))).toBe(true)
          last = end
        }
      }),
    )
  })

  it('show the section with most of the query words, also deep in a long text, and cut at spaces', () => {
    const text = `${'filler text '.repeat(3_000)}here the linker is slow today and so on ${'more filler '.repeat(50)}`
    const { text: shown, highlights } = snippetOf([{ weight: 'D', text }], parseQuery('linker slow').terms)
    expect(highlights.map(({ start, end }) => shown.slice(start, end))).toEqual(['linker', 'slow'])
    expect(shown).toMatch(/^\S.*\S$/)
  })

  it('take little time for very long texts', () => {
    const { highlights } = snippetOf(
      [{ weight: 'D', text: 'lorem ipsum '.repeat(400_000) }],
      parseQuery('linker').terms,
    )
    expect(highlights).toEqual([])
  })
})

it.each([
  ['', 'abc', 3],
  ['linker', 'linker', 0],
  ['lnker', 'linker', 1],
  ['linekr', 'linker', 1],
  ['linear', 'linker', 2],
])('the distance between %s and %s is %i', (one, other, changes) =>
  expect([distance(one, other), distance(other, one)]).toEqual([changes, changes]),
)
