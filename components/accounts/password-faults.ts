import { type PasswordFault, passwordFaultText } from '#lib/domains/accounts/rules.ts'

const byMessage = new Map<string, PasswordFault>(
  Object.entries(passwordFaultText).map(([fault, message]) => [message, fault as PasswordFault]),
)

/** The fault in a password message of the API; `other` for a message of a newer server. */
export const refusedFor = (message: string): PasswordFault | 'other' => byMessage.get(message) ?? 'other'
