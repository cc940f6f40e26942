import { describe, expect, test } from 'vitest'
import { Fingerprints } from './fingerprints.ts'

/** Names with words around them, in eight scripts. */
const scripts: Record<string, { name: string; words: string[] }> = {
  Latin: { name: "Jürgen O'Brien-Groß", words: ['the', 'Jürgen', 'brien', 'X.', 'grossly', 'and', 'O’Brien', 'y'] },
  Cyrillic: { name: 'Иван Петров', words: ['и', 'договор', 'Иван', 'петрова', 'Ivan', 'завтра', 'Petrov'] },
  Greek: { name: 'Νίκος Παπαδόπουλος', words: ['και', 'Νίκος', 'σύμβαση', 'Nikos', 'αύριο'] },
  Arabic: { name: 'محمد الأحمد', words: ['مرحبا', 'محمد', 'غدا', 'الأحمد', 'و'] },
  Hebrew: { name: 'דוד כהן', words: ['שלום', 'לדוד', 'כהן', 'מחר'] },
  Han: { name: '王小明', words: ['合同', '王', '小明', '明天', '请'] },
  Hangul: { name: '김민수', words: ['안녕', '민수', '김', '계약', '내일'] },
  Devanagari: { name: 'राम शर्मा', words: ['नमस्ते', 'राम', 'कल', 'शर्मा'] },
}
const forms: ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => name.toLowerCase(),
  (name) => name.split(' ').reverse().join(', '),
  (name) => name.replace(' ', ' X. '),
  (name) => [...name.replace(' ', '')].join('.'),
  (name) => JSON.stringify({ first_name: name.split(' ')[0], last_name: name.split(' ').at(-1) }),
  (name) => `${name.slice(0, 2)}-\n${name.slice(2)}`,
  (name) => name.normalize('NFD'),
]
/** A generator of numbers that every run repeats. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describe('fingerprints that know the words which begin names', () => {
  test.each(Object.entries(scripts))('find the same as stored ones in %s', (_, { name, words }) => {
    const known = new Fingerprints()
    known.addName(name)
    known.addUncertainName(name.split(' ')[0] ?? '')
    const stored = Fingerprints.fromBytes(known.toBytes())
    const merged = Fingerprints.merged([known, known])
    const below = numbers(11)
    let found = 0
    for (let n = 0; n < 150; n++) {
      const parts = Array.from({ length: 1 + below(12) }, () =>
        below(5) === 0 ? (forms[below(forms.length)]?.(name) ?? '') : (words[below(words.length)] ?? ''),
      )
      const text = parts.join([' ', ' ', '\n', ', ', '-'][below(5)])
      const expected = [stored.certainAndUncertainIn(text), stored.everyNameIn(text)]
      if ((expected[0]?.certain.length ?? 0) > 0) found++
      expect([known.certainAndUncertainIn(text), known.everyNameIn(text)]).toEqual(expected)
      expect([merged.certainAndUncertainIn(text), merged.everyNameIn(text)]).toEqual(expected)
    }
    expect(found).toBeGreaterThan(15)
  })
})
