import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { NewPassword } from './contract.ts'

export const askForReset = operation({
  id: 'askForPasswordReset',
  method: 'post',
  path: '/api/account/reset',
  summary: 'Ask for a link to choose a new password',
  description:
    'The answer is the same whether or not an account has the address. A letter goes to the account’s address, three an hour at most; its link works once, for an hour.',
  permission: 'public',
  audit: { action: 'update', resourceType: 'account' },
  limit: 'exempt',
  status: 202,
  body: z.strictObject({ email: z.email('takes an e-mail address').max(320) }),
  output: z.strictObject({ message: z.string() }),
  refusals: ['rate_limited'],
})

export const usePasswordLink = operation({
  id: 'usePasswordLink',
  method: 'post',
  path: '/api/account/password/link',
  summary: 'Choose a password by the link of a letter',
  description:
    'Works once. Ends every session of the account and every other link of it, and signs nobody in. The letters of an invitation and of a reset lead to /password/new#<code>.',
  permission: 'public',
  audit: { action: 'update', resourceType: 'account' },
  limit: 'exempt',
  status: 200,
  body: z.strictObject({
    code: z.string().regex(/^[0-9A-Za-z]{43}$/, 'is not the code of a link'),
    new_password: NewPassword,
  }),
  output: z.strictObject({ data: z.strictObject({ sessions_ended: z.number().int() }) }),
  refusals: ['link_spent', 'rate_limited'],
})
