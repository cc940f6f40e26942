import { expect, test } from 'vitest'
import { mayBeTakenOut, namePattern } from './name-rules.ts'

test.each([
  ['Ida Beispiel', true],
  ['Anne-Marie Beispiel', true],
  ['ida@example.org', true],
  ['王小明', true],
  ['王', false],
  ['Contract', false],
  ['', false],
])('%s may be taken out of what others wrote: %s', (name, may) => {
  expect(mayBeTakenOut(name)).toBe(may)
})

test.each([
  ['Ida Beispiel', '(^|[^[:alnum:]])Ida\\s+Beispiel($|[^[:alnum:]])'],
  ['  Dr. Ida ', '(^|[^[:alnum:]])Dr\\.\\s+Ida($|[^[:alnum:]])'],
  ['王小明', '王小明'],
  ['ida+x@example.org', '(^|[^[:alnum:]])ida\\+x@example\\.org($|[^[:alnum:]])'],
])('%s is looked for as whole words', (name, pattern) => {
  expect(namePattern(name)).toBe(pattern)
})
