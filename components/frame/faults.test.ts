import { expect, test } from 'vitest'
import { z } from 'zod'
import { NewPassword } from '#lib/domains/accounts/contract.ts'
import { inviteUser } from '#lib/domains/accounts/users-contract.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/sanitizer.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { issuesOf } from '#lib/kernel/use-case.ts'
import { faultIn } from './faults.ts'

/** The message that the API returns for this value. */
const messageOf = (schema: z.ZodType, value: unknown): string => {
  const { error } = schema.safeParse(value)
  return (error && issuesOf(error)[0]?.message) ?? ''
}
const refusalOf = (text: string): string => {
  try {
    return plainTextPhrases(text, 'name', true)
  } catch (error) {
    return (Problem.is(error) && error.issues?.[0]?.message) || ''
  }
}
const invitation = { email: 'somebody@example.org', name: 'Some Body', role: 'person', locale: 'en' }

test.each([
  [messageOf(inviteUser.body, { ...invitation, name: '' }), 'empty', 0],
  [messageOf(inviteUser.body, { ...invitation, name: 'x'.repeat(201) }), 'tooLong', 200],
  [messageOf(inviteUser.body, { ...invitation, email: 'nowhere' }), 'email', 0],
  [messageOf(NewPassword, 'short'), 'tooShort', 12],
  [messageOf(z.string().max(8_000), 'x'.repeat(8_001)), 'tooLong', 8_000],
  [refusalOf('<b></b>'), 'empty', 0],
  [refusalOf('Hello \u202Eolleh'), 'refusedAt', 7],
  ['must have at most 2,000 characters', 'tooLong', 2_000],
  ['Line 3: a tab cannot indent', 'other', 0],
  ['', 'other', 0],
])('faultIn maps the message %j to %s (%i)', (message, name, count) =>
  expect(faultIn(message)).toEqual({ name, count }),
)
