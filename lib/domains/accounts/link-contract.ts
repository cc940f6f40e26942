import { z } from 'zod'
import { SentEmailAddress } from '#lib/kernel/email-address.ts'
import { operation } from '#lib/kernel/operation.ts'
import { NewPassword } from './contract.ts'

export const askForReset = operation({
  id: 'askForPasswordReset',
  method: 'post',
  path: '/api/account/reset',
  summary: 'Request a link to choose a new password',
  description:
    'The response is the same whether or not an account has this email address. If one has, it receives an email, at most three per hour. The link works once and expires after an hour.',
  permission: 'public',
  audit: { action: 'update', resourceType: 'account' },
  limit: 'exempt',
  status: 202,
  body: z.strictObject({ email: SentEmailAddress }),
  output: z.strictObject({ message: z.string() }),
  refusals: ['rate_limited'],
})

export const usePasswordLink = operation({
  id: 'usePasswordLink',
  method: 'post',
  path: '/api/account/password/link',
  summary: 'Choose a password with the code from an emailed link',
  description:
    'Works once. Ends all sessions of the account, invalidates its other links, and does not sign in. Invitation and reset emails link to /password/new#<code>.',
  permission: 'public',
  audit: { action: 'update', resourceType: 'account' },
  limit: 'exempt',
  status: 200,
  body: z.strictObject({
    code: z.string().regex(/^[0-9A-Za-z]{43}$/, 'is not a code from an email link'),
    new_password: NewPassword,
  }),
  output: z.strictObject({ data: z.strictObject({ sessions_ended: z.number().int() }) }),
  refusals: ['link_spent', 'rate_limited'],
})
