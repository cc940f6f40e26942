import { expect, test } from 'vitest'
import { mayBeTakenOut, namePattern } from './name-rules.ts'

test.each([
  ['Ida Beispiel', true],
  ['Anne-Marie Beispiel', true],
  ['ida@example.org', true],
  ['王小明', true],
  ['王', false],
  ['Contract', false],
  ['Contoso GmbH', false],
  ['Contoso Holding AG', false],
  ['the contract', false],
  ['', false],
])('mayBeTakenOut of the name %j returns %s', (name, may) => {
  expect(mayBeTakenOut(name)).toBe(may)
})

test.each([
  ['Ida Beispiel', '(^|[^[:alnum:]])Ida\\s+Beispiel($|[^[:alnum:]])'],
  ['  Dr. Ida ', '(^|[^[:alnum:]])Dr\\.\\s+Ida($|[^[:alnum:]])'],
  ['王小明', '王小明'],
  ['ida+x@example.org', '(^|[^[:alnum:]])ida\\+x@example\\.org($|[^[:alnum:]])'],
])('namePattern returns a pattern of whole words for %s', (name, pattern) => {
  expect(namePattern(name)).toBe(pattern)
})
