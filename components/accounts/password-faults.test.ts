import { expect, test } from 'vitest'
import { faultWords } from '#lib/domains/accounts/passwords.ts'
import { refusedFor } from './password-faults.ts'

test.each(Object.entries(faultWords))('%s is told as it is', (fault, message) =>
  expect(refusedFor(message)).toBe(fault),
)
test.each(['takes 12 characters at least', 'constructor', ''])('%j is told as no fault of another kind', (message) =>
  expect(refusedFor(message)).toBe('other'),
)
