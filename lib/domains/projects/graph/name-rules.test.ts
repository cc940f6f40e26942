import { expect, test } from 'vitest'
import { mayBeTakenOut } from './name-rules.ts'

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
