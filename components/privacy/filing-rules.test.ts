import { expect, test } from 'vitest'
import { correctionsOf, isWrongAddress, isWrongPassword } from './filing-rules.ts'

const before = { name: 'Somebody', email: 'some@example.org', locale: 'en' } as const

test.each([
  [{}, {}, undefined],
  [{ name: ' Somebody ' }, {}, undefined],
  [{ email: 'SOME@example.org ' }, {}, undefined],
  [{ name: 'Another', locale: 'zh' }, { name: 'Another', locale: 'zh' }, undefined],
  [{ email: 'new@example.org' }, { email: 'new@example.org' }, undefined],
  [{ email: 'new' }, { email: 'new' }, 'email'],
  [{ name: '   ' }, { name: '' }, 'name'],
] as const)('correctionsOf turns %j into the changes %j with the fault %s', (typed, changes, fault) =>
  expect(correctionsOf(before, { ...before, ...typed })).toEqual({ changes, fault }),
)

const problem = (code: 'invalid' | 'conflict', ...path: string[]) => ({
  title: '',
  status: 422,
  code,
  issues: [{ path, message: '' }],
})
test('isWrongPassword and isWrongAddress accept only a validation problem of their own field', () => {
  expect(isWrongPassword(problem('invalid', 'password'))).toBe(true)
  expect(isWrongPassword(problem('invalid', 'changes', 'email'))).toBe(false)
  expect(isWrongPassword(problem('conflict', 'password'))).toBe(false)
  expect(isWrongPassword(undefined)).toBe(false)
  expect(isWrongAddress(problem('invalid', 'changes', 'email'))).toBe(true)
  expect(isWrongAddress(problem('invalid', 'email'))).toBe(false)
})
