import type { PasswordFault } from '#lib/domains/accounts/rules.ts'

const byMessage: Record<string, PasswordFault> = {
  'is your e-mail address': 'is_email',
  'is the password you have now': 'is_current',
  'repeats the same few characters': 'repetitive',
}

/** The fault in a password message of the API; `other` for a message of a newer server. */
export const refusedFor = (message: string): PasswordFault | 'other' =>
  Object.hasOwn(byMessage, message) ? (byMessage[message] ?? 'other') : 'other'
