import { describe, expect, it } from 'vitest'
import { foldWord, hashed, hashOfWord, hashWords, type Seeds, tokenize } from './words.ts'

const seeds: Seeds = [0x1234567, -0x7654321]

/** The expected result, by way of `tokenize`. */
const read = (text: string, splits = false) =>
  tokenize(text, { splits }).map(({ word, weight, start, end }) => [hashOfWord(word, seeds)[1], weight, start, end])
/** The result of `hashWords`. */
const fast = (text: string, splits = false) => {
  hashWords(text, seeds, splits)
  const { lows, weights, starts, ends } = hashed
  return Array.from({ length: hashed.count }, (_, at) => [lows[at], weights[at], starts[at], ends[at]])
}

/** Reproducible pseudo-random numbers (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let hash = Math.imul(state ^ (state >>> 15), 1 | state)
    hash = (hash + Math.imul(hash ^ (hash >>> 7), 61 | hash)) ^ hash
    return ((hash ^ (hash >>> 14)) >>> 0) % below
  }
}

it.each([
  ['か\uff9e', 'が'],
  ['ハ\uff9f', 'パ'],
  ['ﾊ\uff9f', 'パ'],
  ['ﾜ\uff9e', 'ヷ'],
  ['STRASSE', 'strasse'],
  ['Größe', 'grosse'],
  ['ΣΑΣ', 'σασ'],
  ['İx', 'ix'],
])('foldWord composes the parts of %s', (word, folded) => {
  expect(foldWord(word)).toBe(folded)
})

describe('hashWords', () => {
  it.each([
    ["It's 3.5 km -- DON'T 'stop' a_b x'y'z '' rock'n'roll"],
    ['Größe, Ärger, naïve, Łódź, ΑΒΓ δ, Привет мир, can’t, l’été'],
    ['我从春天开始就患有克罗恩病，住在77号房间 and more'],
    ['ฉันป่วยตั้งแต่ฤดูใบไม้ผลิ', 'ひらがなカタカナ漢字'],
    ['أنا مريض منذ الربيع ولا أنام', 'שלום עולם'],
    ['👍🏽 yes 🇩🇪 ok ❤️ 👩‍👩‍👧 done'],
    [''],
    ["'"],
    ['\ud83d'],
    ['a\ud83d'],
  ])('returns the hashes of tokenize for %s', (...texts) => {
    for (const text of texts) for (const splits of [false, true]) expect(fast(text, splits)).toEqual(read(text, splits))
  })
  it('returns the hashes of tokenize for every BMP character: isolated, in a word and after an apostrophe', () => {
    for (let unit = 0; unit < 0x10000; unit++) {
      const one = String.fromCharCode(unit)
      const text = `${one} a${one}b x’${one} ${one}${one} c`
      for (const splits of [false, true]) {
        const found = fast(text, splits)
        if (JSON.stringify(found) !== JSON.stringify(read(text, splits)))
          expect(found, `${unit.toString(16)} ${text}`).toEqual(read(text, splits))
      }
    }
  })
  it('returns the hashes of tokenize for random mixed texts', () => {
    const next = numbers(7)
    const some = ['a', 'Z', '7', ' ', "'", '’', '中', 'か', '゙', 'ก', 'ั', 'é', 'Σ', 'ς', 'ﬁ', 'Å', '́', '한', 'ᄒ', 'ᅡ']
    const more = ['👍', '️', '‍', '𠀀', '𝐀', '\n', '-', 'ﾊ', 'ﾞ', 'İ', 'ß', 'ب', 'ّ', '\ud800', '\udc00', '_', '.']
    const all = [...some, ...more]
    for (let n = 0; n < 20_000; n++) {
      const text = Array.from({ length: 1 + next(12) }, () => all[next(all.length)]).join('')
      for (const splits of [false, true]) {
        const found = fast(text, splits)
        if (JSON.stringify(found) !== JSON.stringify(read(text, splits)))
          expect(found, JSON.stringify(text)).toEqual(read(text, splits))
      }
    }
  })
  it('enlarges its arrays for a long text', () => {
    const text = Array.from({ length: 5_000 }, (_, n) => `w${n}`).join(' ')
    expect(fast(text)).toEqual(read(text))
  })
})
