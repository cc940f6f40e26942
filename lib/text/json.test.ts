import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endOfJson, jsonValuesIn } from './json.ts'

const isJson = (text: string) => {
  const start = text.length - text.trimStart().length
  return endOfJson(text, start, text.length) === text.trimEnd().length
}
const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
const parts = [
  ...['{', '}', '[', ']', ',', ':', '"', ' ', '\n', '{}', '[]', '{"a":1}', '""', '"a"', '"b\\n"', '"\\u00e4"', '"\\x"'],
  ...['"\\u12"', '"\n"', '1', '-', '-1.5e3', '01', '.5', '1.', 'true', 'tru', 'false', 'null', 'a'],
]

describe('endOfJson', () => {
  it('returns the end of what JSON.parse accepts, and of no other text', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 8 }), (some) => {
        const text = some.join('')
        expect(isJson(text)).toBe(parses(text))
      }),
      { numRuns: 5_000, seed: 1 },
    )
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(isJson(text)).toBe(true)
      }),
      { numRuns: 200, seed: 1 },
    )
  })
})

describe('jsonValuesIn', () => {
  const valuesIn = (text: string) =>
    jsonValuesIn(text, 0, text.length, () => false)?.map(({ start, end }) => text.slice(start, end))
  it('returns one value in each line', () => {
    expect(valuesIn('data: {"a":"b"}\nx\n0:"fe"\n{"a":"c"} d')).toEqual(['{"a":"b"}', '"fe"', '{"a":"c"}'])
  })
  it('returns a value with a string that line breaks divide', () => {
    expect(valuesIn('data: {"a":"b\n\nc"}\n{"a":"c"}\n0:"f\ne"')).toEqual(['{"a":"b\n\nc"}', '{"a":"c"}', '"f\ne"'])
  })
  it('returns a value before other text with brackets', () => {
    expect(valuesIn(`x {"a":"b"}', {}, c={}`)).toEqual(['{"a":"b"}'])
  })
  it('returns the values beside a string that nothing ends', () => {
    expect(valuesIn(`{"a":"b"}\n{"a":"c\n${'d\n'.repeat(20)}{"a":"e"}`)).toEqual(['{"a":"b"}', '{"a":"e"}'])
  })
})
