import { z } from 'zod'
import {
  AccountId,
  EventView,
  JoinedRequest,
  Redact,
  RequestDetailView,
  RequestedAgentId,
  RequestId,
  RequestView,
  StatementText,
} from '#lib/domains/privacy-requests/contract.ts'
import { channels, graces, refusalGrounds, requestKinds, states } from '#lib/domains/privacy-requests/rules.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'

const DropCopies = z
  .boolean()
  .default(false)
  .meta({ description: 'Copies that nobody fetched yet are erased with the rest; the letter says so' })
const permission = 'privacy:admin'
const request = { resourceType: 'request' }
const params = z.strictObject({ id: RequestId })

const adminFields = {
  account_id: z.string().nullable(),
  filed_by: z.string().nullable(),
  assigned_to: z.string().nullable(),
  subject_name: z.string().nullable().meta({
    description:
      'Of the person or the agent, in lists and details; null where it has none, once it is erased, and in answers to a POST, which are kept for who repeats them',
  }),
  assigned_name: z.string().nullable(),
}
const AdminRequestView = RequestView.extend(adminFields).meta({ id: 'AdminPrivacyRequest' })
const AdminRequestDetail = RequestDetailView.extend({
  ...adminFields,
  subject_email: z
    .string()
    .nullable()
    .meta({ description: 'Of the person, or of the agent’s owner, as their account has it now: letters go there' }),
  holds: z
    .array(z.string())
    .meta({ description: 'Legal holds in force on the person or the agents, and those that keep some of the erasure' }),
  timeline: z.array(EventView.extend({ internal: z.boolean() })),
}).meta({ id: 'AdminPrivacyRequestDetail' })
const answered = z.strictObject({ data: AdminRequestView, message: z.string() })

export const listAllRequests = operation({
  id: 'listAllPrivacyRequests',
  method: 'get',
  path: '/api/admin/privacy/requests',
  summary: 'The queue of privacy requests',
  description: '`total` stops counting at 1,001.',
  permission,
  audit: { action: 'read', ...request },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    state: z.enum(states).optional(),
    kind: z.enum(requestKinds).optional(),
    channel: z.enum(channels).optional(),
    due: z.enum(['near', 'overdue']).optional(),
    assignee: AccountId.or(z.literal('none')).optional(),
    q: z
      .string()
      .regex(/^[\w]{1,40}$/, 'takes the beginning of a request’s id')
      .optional(),
    hold: z
      .string()
      .regex(/^hold_[0-9A-Za-z]{22}$/, 'is not the id of a hold')
      .optional()
      .meta({ description: 'Whose erasure this hold keeps open' }),
    open: z
      .enum(['true', 'false'])
      .transform((text) => text === 'true')
      .optional(),
    sort: z.enum(['due', 'received']).default('due'),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(AdminRequestView),
})

export const listMinders = operation({
  id: 'listPrivacyRequestMinders',
  method: 'get',
  path: '/api/admin/privacy/minders',
  summary: 'Who can mind a request: every admin',
  permission,
  audit: { action: 'read', resourceType: 'account' },
  limit: 'read',
  status: 200,
  output: z.strictObject({ data: z.array(z.strictObject({ account_id: AccountId, name: z.string() })) }),
})

export const readAnyRequest = operation({
  id: 'readAnyPrivacyRequest',
  method: 'get',
  path: '/api/admin/privacy/requests/{id}',
  summary: 'One privacy request with its whole timeline',
  permission,
  audit: { action: 'read', ...request },
  limit: 'read',
  status: 200,
  params,
  output: z.strictObject({ data: AdminRequestDetail }),
  refusals: ['not_found'],
})

export const fileForSubject = operation({
  id: 'filePrivacyRequestForSubject',
  alsoStatus: [200],
  method: 'post',
  path: '/api/admin/privacy/requests',
  summary: 'File a request that came by mail',
  description:
    'The link that verifies it goes to the address on file, wherever the mail came from. A kind that is open already is joined.',
  permission,
  needsRecentPassword: true,
  audit: { action: 'create', ...request },
  limit: 'write',
  status: 201,
  body: z
    .strictObject({
      kinds: z
        .array(z.enum(requestKinds))
        .min(1, 'must name at least one kind')
        .max(requestKinds.length)
        .refine((list) => new Set(list).size === list.length, 'names a kind twice'),
      email: z.email('must be an email address').max(320).optional(),
      account_id: AccountId.optional(),
      agent_id: RequestedAgentId.optional(),
      received_at: Timestamp.meta({ description: 'When the mail arrived: the legal month counts from then' }),
      statement: StatementText.optional(),
      grace: z.enum(graces).optional(),
      redact: Redact,
    })
    .refine(
      (body) => [body.email, body.account_id, body.agent_id].filter((one) => one !== undefined).length === 1,
      'names the subject by one of email, account_id and agent_id',
    ),
  output: z.strictObject({
    data: AdminRequestView,
    message: z.string(),
    joined: z.array(JoinedRequest),
  }),
  refusals: ['not_found', 'conflict', 'content_rejected', 'rate_limited'],
})

const act = {
  method: 'post',
  permission,
  audit: { action: 'update', ...request },
  limit: 'write',
  status: 200,
  params,
  output: answered,
} as const
const at = <const V extends string>(verb: V) => `/api/admin/privacy/requests/{id}/${verb}` as const

export const assignRequest = operation({
  ...act,
  id: 'assignPrivacyRequest',
  path: at('assign'),
  summary: 'Say which admin minds a request',
  body: z.strictObject({ account_id: AccountId.nullable() }),
  refusals: ['not_found', 'wrong_state'],
})
export const verifyByAdmin = operation({
  ...act,
  needsRecentPassword: true,
  id: 'verifyPrivacyRequestByAdmin',
  path: at('verify'),
  summary: 'Record that identity was shown by another way',
  body: z.strictObject({ note: StatementText.meta({ description: 'The evidence, in words; for admins alone' }) }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const refuseRequest = operation({
  ...act,
  id: 'refusePrivacyRequest',
  path: at('refuse'),
  summary: 'Refuse a request, with the reason and the remedies',
  description:
    'The letter states the reason, the right to complain to the authority and to go to court (GDPR art. 12(4)). Not once an erasure has begun.',
  body: z.strictObject({ ground: z.enum(refusalGrounds), reason: StatementText }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const extendRequest = operation({
  ...act,
  id: 'extendPrivacyRequest',
  path: at('extend'),
  summary: 'Extend the legal limit, once, within the first month',
  description: 'By two months at most (GDPR art. 12(3)); the subject reads the reason.',
  body: z.strictObject({
    days: z.number().int().min(1, 'takes 1 at least').max(62, 'takes two months at most'),
    reason: StatementText,
  }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const pauseRequest = operation({
  ...act,
  id: 'pausePrivacyRequest',
  path: at('pause'),
  summary: 'Stop the clocks, with a reason that the subject reads',
  body: z.strictObject({ reason: StatementText }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const resumeRequest = operation({
  ...act,
  id: 'resumePrivacyRequest',
  path: at('resume'),
  summary: 'Let the clocks go on',
  refusals: ['not_found', 'wrong_state'],
})
export const expediteByAdmin = operation({
  ...act,
  needsRecentPassword: true,
  id: 'expeditePrivacyRequestByAdmin',
  path: at('expedite'),
  summary: 'End the grace now',
  description:
    'A copy that the subject asked for with the erasure is waited for, unless `drop_copies` says that it goes.',
  body: z.strictObject({ reason: StatementText, drop_copies: DropCopies }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const retryRequest = operation({
  ...act,
  id: 'retryPrivacyRequest',
  path: at('retry'),
  summary: 'Try a failed request, or a stuck step of its erasure, again',
  body: z.strictObject({ holder: z.string().min(1).max(100).optional() }),
  refusals: ['not_found', 'wrong_state'],
})
export const completePart = operation({
  ...act,
  id: 'completePrivacyRequestPart',
  path: at('complete'),
  summary: 'Record that a rectification or objection was carried out by hand',
  body: z.strictObject({ kind: z.enum(['rectification', 'objection']), note: StatementText }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const commentRequest = operation({
  ...act,
  id: 'commentPrivacyRequest',
  path: at('comment'),
  summary: 'Leave a comment for other admins',
  description: 'Not once its subject is erased: what is kept of it has no words.',
  body: z.strictObject({ note: StatementText }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})

const ids = z
  .array(RequestId)
  .min(1)
  .max(100, 'takes 100 at most')
  .refine((list) => new Set(list).size === list.length, 'names a request twice')
export const bulkRequests = operation({
  id: 'bulkPrivacyRequests',
  method: 'post',
  path: '/api/admin/privacy/bulk',
  summary: 'Do the same with up to 100 requests',
  description: 'Each in a transaction of its own; the answer has a result for each.',
  permission,
  audit: { none: 'each request that changed has an entry of its own' },
  limit: 'write',
  status: 200,
  body: z.discriminatedUnion('action', [
    z.strictObject({ action: z.literal('assign'), ids, account_id: AccountId.nullable() }),
    z.strictObject({ action: z.literal('expedite'), ids, reason: StatementText, drop_copies: DropCopies }),
    z.strictObject({ action: z.literal('comment'), ids, note: StatementText }),
    z.strictObject({ action: z.literal('retry'), ids }),
    z.strictObject({ action: z.literal('pause'), ids, reason: StatementText }),
    z.strictObject({ action: z.literal('resume'), ids }),
  ]),
  output: z.strictObject({
    data: z.array(
      z.strictObject({
        id: RequestId,
        ok: z.boolean(),
        state: z.enum(states).nullable(),
        code: z.string().nullable().meta({ description: 'Why not' }),
        detail: z.string().nullable(),
      }),
    ),
  }),
  refusals: ['step_up_required'],
})
