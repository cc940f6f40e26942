import { z } from 'zod'
import { StatementText } from '#lib/domains/privacy-requests/contract.ts'
import { requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import { SentEmailAddress } from '#lib/kernel/email-address.ts'
import { operation } from '#lib/kernel/operation.ts'
import { copyDeliveries, statusStages } from './rules.ts'

const path = '/api/privacy/form'
const request = { resourceType: 'request' } as const
const when = z.iso.datetime()
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
  limit: 'read',
  status: 200,
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
  audit: { action: 'create', ...request },
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
  audit: { action: 'create', ...request },
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
    legal_due_at: when.meta({ description: 'The deadline for the answer, including extensions and pauses' }),
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
  status: 200,
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
  status: 200,
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
  status: 200,
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
