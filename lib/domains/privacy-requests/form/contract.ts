import { z } from 'zod'
import { SentEmailAddress } from '#lib/kernel/email-address.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { AccountId, StatementText } from '../contract.ts'
import { actOnRequest } from '../queue/contract.ts'
import { requestKinds } from '../rules.ts'
import { copyDeliveries, statusStages } from './rules.ts'

const path = '/api/privacy/form'
const request = { resourceType: 'request' } as const
const when = time()
const Address = z.string().trim().pipe(SentEmailAddress)
const PersonName = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .refine((text) => text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text), 'must not contain control characters')
const LinkToken = z.string().min(1).max(200)
const withToken = z.strictObject({ token: LinkToken })
const Language = z.enum(['en', 'zh'])
const open = { method: 'post', permission: 'public', limit: 'read' } as const

export const readRequestForm = operation({
  id: 'readRequestForm',
  method: 'get',
  path,
  summary: 'Whether the public request form is on, and the contact for privacy questions',
  permission: 'public',
  audit: { none: 'public settings' },
  output: z.strictObject({
    data: z
      .strictObject({ is_on: z.boolean(), privacy_email: z.string().nullable() })
      .meta({ id: 'PrivacyRequestForm' }),
  }),
})

export const sendRequestForm = operation({
  ...open,
  id: 'sendRequestForm',
  path,
  summary: 'Send a privacy request without an account',
  description:
    'Sends an email with a link to the address. The request is filed when the link is confirmed within 24 hours; otherwise it is deleted. The response is the same for every address. At most three emails are sent to one address per hour; further requests are discarded without notice. `website` must be empty.',
  audit: request,
  status: 202,
  bodyLimit: 32_768,
  body: z.strictObject({
    email: Address,
    name: PersonName.optional(),
    kind: z.enum(requestKinds),
    statement: StatementText.optional().meta({
      description: 'Plain text: what the request is about. Required for a rectification',
    }),
    locale: Language.meta({ description: 'The language of the emails' }),
    website: z.string().max(2_000).optional(),
  }),
  output: z.strictObject({ message: z.string() }),
  refusals: ['not_found', 'content_rejected', 'rate_limited'],
})

export const confirmRequestForm = operation({
  ...open,
  id: 'confirmRequestForm',
  path: `${path}/confirm`,
  summary: 'Confirm the email address of a request from the form',
  description:
    'Works once, within 24 hours. The request is filed, and an email with a link to its status page is sent.',
  audit: request,
  status: 200,
  body: withToken,
  output: z.strictObject({
    data: z.strictObject({ kind: z.enum(requestKinds), received_at: when, legal_due_at: when }),
  }),
  refusals: ['link_spent', 'conflict', 'rate_limited'],
})

const FormStatus = z
  .strictObject({
    kinds: z.array(z.enum(requestKinds)),
    stage: z.enum(statusStages).meta({
      description:
        'in_review: an admin checks whose data it is about. confirm_by_email: waits for the confirmation link that was sent to the address of the account',
    }),
    received_at: when,
    legal_due_at: time({ description: 'The deadline for the answer, including extensions and pauses' }),
    extended: z.boolean(),
    paused: z.boolean(),
    erasure_at: when.nullable().meta({ description: 'When the erasure begins; until then it can be withdrawn' }),
    closed_at: when.nullable(),
    expires_at: when.nullable().meta({ description: 'When this page is deleted: 30 days after closing' }),
    can_withdraw: z.boolean(),
    copy: z.enum(copyDeliveries).nullable().meta({
      description:
        'A copy of the data is ready. sign_in: in the account of the requester. download: with this link. email: with the link of an email that was sent after the identity was verified. organization: the organization hands it over',
    }),
    messages: z.array(z.strictObject({ at: when, event: z.string(), note: z.string() })),
  })
  .meta({ id: 'PrivacyRequestFormStatus' })

export const readFormStatus = operation({
  ...open,
  id: 'readRequestFormStatus',
  path: `${path}/status`,
  summary: 'Get the status of a request from the form, with the token of a link from its emails',
  description: 'A POST, so that the token does not appear in URLs and logs.',
  audit: { action: 'read', ...request },
  body: withToken,
  output: z.strictObject({ data: FormStatus }),
  refusals: ['link_spent', 'rate_limited'],
})

export const downloadFormCopy = operation({
  ...open,
  id: 'downloadRequestFormCopy',
  path: `${path}/copy`,
  summary: 'Download the copy of a participant’s data, with the token of the status page',
  description:
    'NDJSON like the export of a participant. Only with a link that was sent after the identity was verified, within 30 days of the verification.',
  audit: { action: 'export', ...request },
  body: withToken,
  contributed: true,
  output: z.string(),
  produces: ['application/x-ndjson'],
  refusals: ['link_spent', 'wrong_state', 'rate_limited'],
})

export const withdrawFormRequest = operation({
  ...open,
  id: 'withdrawRequestForm',
  path: `${path}/withdraw`,
  summary: 'Withdraw a request from the form, with the token of its status page',
  description: 'Until its work begins.',
  audit: { action: 'update', ...request },
  body: withToken,
  output: z.strictObject({ data: FormStatus }),
  refusals: ['link_spent', 'wrong_state', 'rate_limited'],
})

export const sendStatusLinks = operation({
  ...open,
  id: 'sendRequestFormStatusLinks',
  path: `${path}/links`,
  summary: 'Resend the links to the status pages of the open requests of an email address',
  description: 'The response is the same for every address. At most three emails per hour.',
  audit: { none: 'the email that is sent, if any, has its own entry' },
  status: 202,
  body: z.strictObject({ email: Address }),
  output: z.strictObject({ message: z.string() }),
  refusals: ['not_found', 'rate_limited'],
})

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
  audit: { resourceType: 'request' },
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

const unconfirmedId = z.string().regex(/^pform_[0-9A-Za-z]{22}$/, 'is not the id of an unconfirmed request')

export const listUnconfirmed = operation({
  id: 'listUnconfirmedRequests',
  method: 'get',
  path: '/api/admin/privacy/unconfirmed',
  summary: 'List requests from the form whose link an admin has to forward, oldest first',
  description: 'Empty if a mail server sends the links. At most 100.',
  permission: 'privacy:admin',
  audit: { resourceType: 'request' },
  output: z.strictObject({
    data: z.array(
      z
        .strictObject({
          id: z.string(),
          kind: z.enum(requestKinds),
          name: z.string().nullable(),
          email: z.string(),
          sent_at: when,
          expires_at: when,
          is_forwarded: z.boolean().meta({ description: 'An admin has got the link, which works for 24 hours' }),
        })
        .meta({ id: 'UnconfirmedRequest' }),
    ),
  }),
  refusals: ['forbidden'],
})

export const forwardUnconfirmed = operation({
  id: 'forwardUnconfirmedRequest',
  method: 'post',
  path: '/api/admin/privacy/unconfirmed/{id}/link',
  summary: 'Get the link that confirms a request from the form, to forward it',
  description:
    'The link works once, within 24 hours from now. Links that were made earlier stop working. Forward it to the address of the request only: whoever opens it confirms that address. Refused if a mail server sends the links.',
  permission: 'privacy:admin',
  audit: { action: 'update', resourceType: 'request' },
  needsRecentPassword: true,
  params: z.strictObject({ id: unconfirmedId }),
  output: z.strictObject({
    data: z.strictObject({
      email: z.string(),
      link: z.string(),
      subject: z.string(),
      text: z.string(),
      expires_at: when,
    }),
  }),
  secrets: ['email', 'link', 'text'],
  refusals: ['forbidden', 'not_found', 'conflict'],
})
