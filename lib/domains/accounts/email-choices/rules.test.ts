import { expect, test } from 'vitest'
import { effectiveDelivery, emailKindRules, emailKinds, isInDigest } from './rules.ts'

test.each(emailKinds)('the usual delivery of %s is one of its choices, and it can be turned off', (kind) => {
  const { choices, usual } = emailKindRules[kind]
  expect(choices).toContain(usual)
  expect(choices).toContain('never')
})

test('the only receiver gets emails of a kind as usual after turning it off', () => {
  expect(effectiveDelivery('outages', 'never', true)).toBe('at_once')
  expect(effectiveDelivery('outages', 'never', false)).toBe('never')
  expect(effectiveDelivery('outages', 'daily', true)).toBe('daily')
})

test('the digest contains deadlines for everybody who gets them, and other kinds only for those who chose it', () => {
  expect([isInDigest('requests', 'at_once'), isInDigest('outages', 'at_once')]).toEqual([true, false])
  expect([isInDigest('requests', 'never'), isInDigest('outages', 'daily')]).toEqual([false, true])
})
