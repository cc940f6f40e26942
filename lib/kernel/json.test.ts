import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseJson } from './json.ts'
import { Problem } from './problem.ts'

const read = (text: string, members?: number) =>
  parseJson(new TextEncoder().encode(text), members === undefined ? {} : { members })
const codeOf = (text: string, members?: number): string => {
  try {
    read(text, members)
    return 'taken'
  } catch (error) {
    return Problem.is(error) ? error.code : String(error)
  }
}

it('jsonOf counts brackets and commas only outside strings, however the strings are escaped', () => {
  const many = '[,{'.repeat(100)
  for (const text of [many, `\\"${many}`, `${many}\\\\`, `\\\\\\"${many}\\\\\\"`, `é${many}`])
    expect(codeOf(`{"a":"${text}"}`, 2)).toBe('taken')
  expect(codeOf(`{"a":"\\\\",${'"b":1,'.repeat(5)}"c":2}`, 5)).toBe('too_large')
  expect(codeOf(`["\\\\",${'['.repeat(64)}${']'.repeat(64)}]`)).toBe('malformed_json')
  expect(codeOf(`["\\\\",${'['.repeat(63)}${']'.repeat(63)}]`)).toBe('taken')
})

it('jsonOf parses every value that JSON can represent', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value)
      // Values that no database can store are covered by other tests.
      fc.pre(!/\\u0000|\\ud[89a-f]|__proto__/i.test(text))
      expect(read(text)).toEqual(JSON.parse(text))
    }),
  )
})

it.each(['"', '"a', '{"a":"b\\"}', '["a\\\\\\"]'])(
  'jsonOf rejects the unterminated string %s as malformed JSON',
  (text) => expect(codeOf(text)).toBe('malformed_json'),
)

it('jsonOf rejects a member __proto__ in every spelling, and accepts the same text as a value', () => {
  const name = '__proto__'
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  const spellings = [
    name,
    ...[...name].map((character, at) => `${name.slice(0, at)}${escaped(character)}${name.slice(at + 1)}`),
    ...[...name].map(
      (character, at) => `${name.slice(0, at)}${escaped(character).replace('f', 'F')}${name.slice(at + 1)}`,
    ),
    [...name].map(escaped).join(''),
  ]
  for (const spelling of spellings) {
    expect([spelling, codeOf(`{"a":[{"${spelling}":{"b":1}}]}`)]).toEqual([spelling, 'invalid'])
    expect([spelling, codeOf(`{"a":"${spelling}"}`)]).toEqual([spelling, 'taken'])
  }
})
