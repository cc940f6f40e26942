import { z } from 'zod'
import {
  AccountId,
  EventView,
  JoinedRequest,
  Redact,
  RequestDetailView,
  RequestedAgentId,
  RequestId,
  RequestKindName,
  RequestStateName,
  RequestView,
  StatementText,
} from '#lib/domains/privacy-requests/contract.ts'
import { RequestCause } from '#lib/domains/privacy-requests/erasures/contract.ts'
import { channels, graces, refusalGrounds, requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import { SentEmailAddress } from '#lib/kernel/email-address.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'

const DropCopies = z
  .boolean()
  .default(false)
  .meta({ description: 'Requested copies that nobody has downloaded yet are erased with the rest; the email says so' })
const permission = 'privacy:admin'
const request = { resourceType: 'request' }
const params = z.strictObject({ id: RequestId })

const adminFields = {
  account_id: z.string().nullable(),
  filed_by: z.string().nullable(),
  assigned_to: z.string().nullable(),
  subject_name: z.string().nullable().meta({
    description:
      'Name of the person or agent, in lists and details. Null if it has none or after its erasure, and in responses to a POST, which are stored for repetitions',
  }),
  assigned_name: z.string().nullable(),
}
const AdminRequestView = RequestView.extend(adminFields).meta({ id: 'AdminPrivacyRequest' })
const AdminRequestDetail = RequestDetailView.extend({
  ...adminFields,
  subject_email: z
    .string()
    .nullable()
    .meta({ description: 'Current email address of the person, or of the agent’s owner. Emails are sent there' }),
  holds: z.array(z.string()).meta({
    description: 'Legal holds in force on the person or the agents, and holds that retain part of the erasure',
  }),
  subject_locale: z.enum(['en', 'zh']).nullable().meta({ description: 'The language in which emails are sent' }),
  filed_by_name: z.string().nullable(),
  timeline: z.array(
    EventView.extend({
      internal: z.boolean(),
      by_name: z
        .string()
        .nullable()
        .meta({ description: 'The admin or manager who did it, while the audit log retains its entry' }),
    }),
  ),
}).meta({ id: 'AdminPrivacyRequestDetail' })
const answered = z.strictObject({ data: AdminRequestView, message: z.string() })

export const listAllRequests = operation({
  id: 'listAllPrivacyRequests',
  method: 'get',
  path: '/api/admin/privacy/requests',
  summary: 'List the queue of privacy requests',
  description: '`total` stops counting at 1,001.',
  permission,
  audit: request,
  query: z.strictObject({
    state: RequestStateName.optional(),
    kind: RequestKindName.optional(),
    channel: z.enum(channels).optional(),
    due: z.enum(['near', 'week', 'overdue', 'late']).optional().meta({
      description:
        'near: less than a quarter of the time remains; week: due within seven days; overdue: past a deadline; late: the erasure was completed after our own deadline',
    }),
    assignee: AccountId.or(z.literal('none')).optional(),
    q: z.string().trim().min(1).max(100).optional().meta({
      description:
        'The beginning of a request’s id, or a part of the name, email address or id of its person or agent, or of the agent’s owner. For a request from the form: the complete email address of the requester',
    }),
    hold: z
      .string()
      .regex(/^hold_[0-9A-Za-z]{22}$/, 'is not the id of a hold')
      .optional()
      .meta({ description: 'Requests whose erasure this hold keeps open' }),
    open: z
      .enum(['true', 'false'])
      .transform((text) => text === 'true')
      .optional(),
    sort: z.enum(['due', 'received']).default('due'),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(
    AdminRequestView.extend({
      causes: z.array(RequestCause).nullable().meta({
        description: 'With `due` `overdue` or `late`: why, as far as it is recorded; otherwise null',
      }),
    }).meta({ id: 'ListedAdminPrivacyRequest' }),
  ),
})

export const listMinders = operation({
  id: 'listPrivacyRequestMinders',
  method: 'get',
  path: '/api/admin/privacy/minders',
  summary: 'List the admins who can be assigned to a request',
  permission,
  audit: { resourceType: 'account' },
  output: z.strictObject({ data: z.array(z.strictObject({ account_id: AccountId, name: z.string() })) }),
})

export const readAnyRequest = operation({
  id: 'readAnyPrivacyRequest',
  method: 'get',
  path: '/api/admin/privacy/requests/{id}',
  summary: 'Get a privacy request with its complete timeline',
  permission,
  audit: request,
  params,
  output: z.strictObject({ data: AdminRequestDetail }),
  refusals: ['not_found'],
})

export const fileForSubject = operation({
  id: 'filePrivacyRequestForSubject',
  alsoStatus: [200],
  method: 'post',
  path: '/api/admin/privacy/requests',
  summary: 'File a request that arrived by email',
  description:
    'The verification link is sent to the address on file, regardless of the sender of the email. If a request of this kind is already open, it is returned.',
  permission,
  needsRecentPassword: true,
  audit: request,
  body: z
    .strictObject({
      kinds: z
        .array(RequestKindName)
        .min(1, 'must name at least one kind')
        .max(requestKinds.length)
        .refine((list) => new Set(list).size === list.length, 'must name each kind once'),
      email: SentEmailAddress.optional(),
      account_id: AccountId.optional(),
      agent_id: RequestedAgentId.optional(),
      received_at: Timestamp.meta({ description: 'When the email arrived. The legal month starts at this time' }),
      statement: StatementText.optional(),
      grace: z.enum(graces).optional(),
      redact: Redact,
    })
    .refine(
      (body) => [body.email, body.account_id, body.agent_id].filter((one) => one !== undefined).length === 1,
      'must identify the subject by exactly one of email, account_id and agent_id',
    ),
  output: z.strictObject({
    data: AdminRequestView,
    message: z.string(),
    joined: z.array(JoinedRequest),
  }),
  refusals: ['not_found', 'conflict', 'content_rejected', 'rate_limited'],
})

/** What the actions of admins on one request have in common. */
export const actOnRequest = {
  method: 'post',
  permission,
  audit: { action: 'update', ...request },
  params,
  output: answered,
} as const
const at = <const V extends string>(verb: V) => `/api/admin/privacy/requests/{id}/${verb}` as const

export const assignRequest = operation({
  ...actOnRequest,
  id: 'assignPrivacyRequest',
  path: at('assign'),
  summary: 'Assign a request to an admin',
  body: z.strictObject({ account_id: AccountId.nullable() }),
  refusals: ['not_found', 'wrong_state'],
})
export const verifyByAdmin = operation({
  ...actOnRequest,
  needsRecentPassword: true,
  id: 'verifyPrivacyRequestByAdmin',
  path: at('verify'),
  summary: 'Record that identity was confirmed in another way',
  description:
    'An erasure then has a grace period of at least 24 hours, and its subject gets an email with a link to cancel. With two-person approval, an erasure needs another admin. Not possible with a token.',
  body: z.strictObject({ note: StatementText.meta({ description: 'The evidence, as text, visible only to admins' }) }),
  refusals: ['not_found', 'wrong_state', 'content_rejected', 'approval_required', 'conflict'],
})
export const refuseRequest = operation({
  ...actOnRequest,
  needsRecentPassword: true,
  id: 'refusePrivacyRequest',
  path: at('refuse'),
  summary: 'Refuse a request, with the reason and the remedies',
  description:
    'The email states the reason and the right to complain to the authority or to go to court (GDPR art. 12(4)). Not possible after an erasure has begun.',
  body: z.strictObject({ ground: z.enum(refusalGrounds), reason: StatementText }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const extendRequest = operation({
  ...actOnRequest,
  needsRecentPassword: true,
  id: 'extendPrivacyRequest',
  path: at('extend'),
  summary: 'Extend the legal deadline, once, within the first month',
  description: 'By at most two months (GDPR art. 12(3)). The subject sees the reason.',
  body: z.strictObject({
    days: z.number().int().min(1, 'must be at least 1').max(62, 'must be at most two months'),
    reason: StatementText,
  }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const pauseRequest = operation({
  ...actOnRequest,
  needsRecentPassword: true,
  id: 'pausePrivacyRequest',
  path: at('pause'),
  summary: 'Pause the deadlines, with a reason that the subject sees',
  body: z.strictObject({ reason: StatementText }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const resumeRequest = operation({
  ...actOnRequest,
  id: 'resumePrivacyRequest',
  path: at('resume'),
  summary: 'Resume the deadlines',
  refusals: ['not_found', 'wrong_state'],
})
export const expediteByAdmin = operation({
  ...actOnRequest,
  needsRecentPassword: true,
  id: 'expeditePrivacyRequestByAdmin',
  path: at('expedite'),
  summary: 'Shorten the grace period to 24 hours',
  description:
    'The subject gets an email with a link to cancel; only the subject can end the grace period at once. After the grace period, `drop_copies` begins an erasure that still waits for a copy which the subject requested with it. Not possible with a token.',
  body: z.strictObject({ reason: StatementText, drop_copies: DropCopies }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const retryRequest = operation({
  ...actOnRequest,
  id: 'retryPrivacyRequest',
  path: at('retry'),
  summary: 'Retry a failed request, or a stuck step of its erasure',
  body: z.strictObject({ holder: z.string().min(1).max(100).optional() }),
  refusals: ['not_found', 'wrong_state'],
})
export const completePart = operation({
  ...actOnRequest,
  needsRecentPassword: true,
  id: 'completePrivacyRequestPart',
  path: at('complete'),
  summary: 'Record that a rectification or objection was carried out manually',
  body: z.strictObject({ kind: z.enum(['rectification', 'objection']), note: StatementText }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})
export const commentRequest = operation({
  ...actOnRequest,
  id: 'commentPrivacyRequest',
  path: at('comment'),
  summary: 'Add a comment for other admins',
  description: 'Not possible after the subject is erased: the remaining record contains no text.',
  body: z.strictObject({ note: StatementText }),
  refusals: ['not_found', 'wrong_state', 'content_rejected'],
})

const ids = z
  .array(RequestId)
  .min(1)
  .max(100, 'must have at most 100 items')
  .refine((list) => new Set(list).size === list.length, 'must name each request once')
export const bulkRequests = operation({
  id: 'bulkPrivacyRequests',
  method: 'post',
  path: '/api/admin/privacy/bulk',
  summary: 'Apply an action to up to 100 requests',
  description: 'Each request is changed in its own transaction. The response has a result for each.',
  permission,
  audit: { none: 'each changed request has its own entry' },
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
        state: RequestStateName.nullable(),
        code: z.string().nullable().meta({ description: 'Why the action failed' }),
        detail: z.string().nullable(),
      }),
    ),
  }),
  refusals: ['step_up_required'],
})
