import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { breakOf, describeBreak } from './json-break.ts'

const positionIn = (text: string): number | undefined => {
  try {
    JSON.parse(text)
  } catch (error) {
    const named = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined
    return named === undefined ? undefined : Number(named)
  }
  return undefined
}

describe('breakOf', () => {
  test.each([
    ['{\n "a": 1,\n}', 11],
    ['{"a" 1}', 5],
    ['{"a":1} x', 8],
    ['[1,2]]', 5],
    ['{"a":tru}', 5],
    ['nonsense', 0],
    ['[1,,2]', 3],
    ['{"a":[1,2', 9],
    ['', 0],
  ])('returns, for %j, the offset %i of the first error', (text, place) => expect(breakOf(text)).toBe(place))

  test('returns the offset in the error of the JavaScript engine when that error contains one', () => {
    const noise = fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '1', 'true', ' ', '\n', 'x')
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        const place = positionIn(text)
        if (place !== undefined) expect(breakOf(text)).toBe(place)
      }),
      { numRuns: 2_000 },
    )
  })

  test('returns the length of valid JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(breakOf(text)).toBe(text.length)
      }),
    )
  })
})

test('describeBreak returns line and column without repeating the text', () => {
  expect(describeBreak('{\n "a": 1,\n}')).toBe('is not valid JSON: the error is at line 3, column 1')
  expect(describeBreak('{"secret": [1, 2\n')).toBe('is incomplete JSON: it ends at line 2, column 1')
  expect(describeBreak(' \n')).toBe('is empty')
})
