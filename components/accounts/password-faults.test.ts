import { expect, test } from 'vitest'
import { passwordFaultText } from '#lib/domains/accounts/rules.ts'
import { refusedFor } from './password-faults.ts'

test.each(Object.entries(passwordFaultText))('refusedFor returns %s for the message of that fault', (fault, message) =>
  expect(refusedFor(message)).toBe(fault),
)
test.each(['must have at least 12 characters', 'constructor', ''])('refusedFor returns "other" for %j', (message) =>
  expect(refusedFor(message)).toBe('other'),
)
