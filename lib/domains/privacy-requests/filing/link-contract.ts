import { z } from 'zod'
import { RequestStateName } from '#lib/domains/privacy-requests/contract.ts'
import { operation } from '#lib/kernel/operation.ts'

export const useLink = operation({
  id: 'usePrivacyLink',
  method: 'post',
  path: '/api/privacy/links/use',
  summary: 'Use a link from an email',
  description: 'Works once. Unknown, used and expired links get the same response.',
  permission: 'public',
  audit: { action: 'update', resourceType: 'request' },
  // A user of a link has no session; attempts are also limited by network address.
  limit: 'read',
  status: 200,
  body: z.strictObject({
    token: z.string().min(1).max(200),
    purpose: z.enum(['verify', 'cancel', 'address']),
  }),
  output: z.strictObject({
    data: z.strictObject({ purpose: z.enum(['verify', 'cancel', 'address']), state: RequestStateName }),
  }),
  refusals: ['link_spent', 'wrong_state', 'conflict', 'rate_limited'],
})
