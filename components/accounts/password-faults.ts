import type { PasswordFault } from '#lib/domains/accounts/rules.ts'

const byMessage: Record<string, PasswordFault> = {
  'is your e-mail address': 'is_email',
  'is the password you have now': 'is_current',
  'repeats the same few characters': 'repetitive',
}

/** What the API finds wrong with a new password, from its words; `other` where a newer server says something else. */
export const refusedFor = (message: string): PasswordFault | 'other' =>
  Object.hasOwn(byMessage, message) ? (byMessage[message] ?? 'other') : 'other'
