import { z } from 'zod'
import { AccountId, StatementText } from '#lib/domains/privacy-requests/contract.ts'
import { actOnRequest } from '#lib/domains/privacy-requests/queue/contract.ts'
import { operation } from '#lib/kernel/operation.ts'

const Id = z
  .string()
  .min(1)
  .max(200)
  .refine((id) => !id.includes('\0') && id.isWellFormed(), 'is not an id')

export const listSuggestions = operation({
  ...actOnRequest,
  id: 'listPrivacyRequestSuggestions',
  method: 'get',
  path: '/api/admin/privacy/requests/{id}/suggestions',
  summary: 'List accounts and participants with the confirmed address of a request from the form',
  description:
    'Suggestions only: an application reported the addresses of participants, and nobody confirmed them. Empty after the request is connected or closed.',
  audit: { action: 'read', resourceType: 'request' },
  limit: 'read',
  output: z.strictObject({
    data: z.strictObject({
      account: z.strictObject({ account_id: AccountId, name: z.string() }).nullable(),
      participants: z.array(
        z.strictObject({
          project_id: z.string(),
          project_name: z.string(),
          participant_id: z.string(),
          name: z.string().nullable(),
        }),
      ),
    }),
  }),
  refusals: ['not_found'],
})

export const connectRequest = operation({
  ...actOnRequest,
  needsRecentPassword: true,
  id: 'connectPrivacyRequest',
  path: '/api/admin/privacy/requests/{id}/connect',
  summary: 'Connect a request from the form to an account or participant',
  description:
    'Does not verify the identity. An account must have the confirmed address, and its owner confirms the request with a link that is sent there. For a participant, an admin records how the identity was verified. If a person claimed the participation, the request concerns their account.',
  body: z
    .strictObject({ account_id: AccountId.optional(), project_id: Id.optional(), participant_id: Id.optional() })
    .refine(
      ({ account_id, project_id, participant_id }) =>
        account_id === undefined
          ? project_id !== undefined && participant_id !== undefined
          : project_id === undefined && participant_id === undefined,
      'must have either `account_id`, or `project_id` and `participant_id`',
    ),
  refusals: ['not_found', 'forbidden', 'wrong_state', 'conflict', 'fenced', 'rate_limited'],
})

export const disconnectRequest = operation({
  ...actOnRequest,
  needsRecentPassword: true,
  id: 'disconnectPrivacyRequest',
  path: '/api/admin/privacy/requests/{id}/disconnect',
  summary: 'Disconnect a request from the form from its account or participant',
  description:
    'Only until the identity is verified, or the owner of the account acts on the request. The confirmation link stops working.',
  refusals: ['not_found', 'wrong_state'],
})

export const answerRequest = operation({
  ...actOnRequest,
  needsRecentPassword: true,
  id: 'answerPrivacyRequest',
  path: '/api/admin/privacy/requests/{id}/answer',
  summary: 'Answer a request from the form that concerns no account or participant, and close it',
  description: 'The answer is sent by email and appears on the status page. Nothing is erased or changed.',
  body: z.strictObject({ note: StatementText }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
