import { z } from 'zod'
import { RunDetail } from '#lib/domains/privacy-requests/erasures/contract.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { channels, dueTags, graces, parties, partStates, requestKinds, requestSubjects, states } from './rules.ts'

const when = z.iso.datetime()
const whenever = when.nullable()
export const RequestId = z.string().regex(/^preq_[0-9A-Za-z]{22}$/, 'is not the id of a privacy request')
export const RequestedAgentId = z.string().regex(/^[\w.:-]{1,200}$/, 'is not the id of an agent')
export const AccountId = z.string().regex(/^usr_[0-9A-Za-z]{22}$/, 'is not the id of an account')
const Password = z.string().min(1).max(200)
export const StatementText = z
  .string()
  .trim()
  .min(1, 'has one character at least')
  .max(4_000, 'has 4,000 characters at most')
/** Ids, codes, counts and times, by name. */
export const EventFacts = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))

const PartView = z
  .strictObject({
    kind: z.enum(requestKinds),
    state: z.enum(partStates),
    started_at: whenever,
    finished_at: whenever,
    outcome: EventFacts,
  })
  .meta({ id: 'PrivacyRequestPart' })

const requestFields = {
  id: RequestId,
  kinds: z.array(z.enum(requestKinds)),
  parts: z.array(PartView),
  channel: z.enum(channels),
  state: z.enum(states),
  subject: z.enum(requestSubjects),
  agent_id: z.string().nullable(),
  participant_id: z.string().nullable().meta({ description: 'Of a request about a participant of a project' }),
  grace: z.enum(graces).nullable(),
  redact: z.boolean().meta({
    description: 'Of an erasure: the name is also removed from texts of others in the projects’ graphs',
  }),
  received_at: when,
  verified_by: z.string().nullable().meta({ description: 'password, link, token, admin or manager' }),
  verified_at: whenever,
  waiting_until: whenever.meta({ description: 'The end of the grace' }),
  started_at: whenever,
  due_at: whenever.meta({ description: 'Ours: 72 hours after verification or the end of the grace' }),
  legal_due_at: when.meta({
    description: 'The law’s: one month from receipt (GDPR art. 12(3)), extension and pauses counted in',
  }),
  due: z
    .enum(dueTags)
    .meta({ description: 'near: less than a quarter of the time is left; stopped: nothing is owed any more' }),
  seconds_left: z
    .number()
    .int()
    .nullable()
    .meta({ description: 'Until the earlier of the two; negative once it is over' }),
  extended: z.boolean(),
  paused: z.strictObject({ since: when, reason: z.string() }).nullable(),
  closed_at: whenever,
  receipt_id: z.string().nullable().meta({
    description:
      'Of an erasure: reserved when it is requested. GET /v1/receipts/{id} returns the receipt after the verification.',
  }),
  can_cancel: z.boolean(),
  for_member: z.boolean().meta({ description: 'You filed it as a manager for a member: it is theirs to act on' }),
}
export const RequestView = z.strictObject(requestFields).meta({ id: 'PrivacyRequest' })
export type RequestView = z.output<typeof RequestView>

export const EventView = z
  .strictObject({
    at: when,
    by: z.enum(parties),
    event: z.string(),
    from: z.enum(states).nullable(),
    to: z.enum(states).nullable(),
    details: EventFacts,
    note: z.string().nullable(),
  })
  .meta({ id: 'PrivacyRequestEvent' })

export const RequestDetailView = z
  .strictObject({
    ...requestFields,
    statement: z.string().nullable().meta({ description: 'What the subject wrote; gone when the request is closed' }),
    timeline: z.array(EventView),
    erasure: RunDetail.nullable(),
  })
  .meta({ id: 'PrivacyRequestDetail' })

const permission = 'privacy:self'
const request = { resourceType: 'request' }
const params = z.strictObject({ id: RequestId })
const answered = z.strictObject({ data: RequestView, message: z.string() })
const asked = z
  .array(z.enum(requestKinds))
  .min(1, 'must name at least one kind')
  .max(requestKinds.length)
  .refine((list) => new Set(list).size === list.length, 'names a kind twice')

export const Redact = z.boolean().optional().meta({
  description:
    'Of a person’s erasure: also removes their name and email address from texts of others in the graphs of their projects. A name of one word stays, because it may be any word. Messages and documents of others stay unchanged',
})

export const JoinedRequest = z
  .strictObject({ kind: z.enum(requestKinds), request_id: RequestId })
  .meta({ id: 'JoinedPrivacyRequest' })

export const fileRequest = operation({
  id: 'filePrivacyRequest',
  alsoStatus: [200],
  method: 'post',
  path: '/api/privacy/requests',
  summary: 'Ask for access, portability, rectification, restriction, erasure, or object',
  description:
    'For oneself, for one of one’s agents, or, as a manager, for a member of one’s organisation. With the right password it is verified at once; without, a link goes to the address on file. An agent’s token verifies for that agent alone. A kind that is open already is joined: 200 with the open request. What nobody has confirmed yet is joined by who proves who they are only where they ask for all of it, and an erasure then has the grace of their call; otherwise what they ask for is taken out of it, into a request of their own. A token joins what its agent asked for alone.',
  permission,
  audit: { action: 'create', ...request },
  limit: 'write',
  status: 201,
  body: z.strictObject({
    kinds: asked,
    grace: z.enum(graces).optional().meta({
      description:
        'How long an erasure waits; 24 hours unless given. By a token of an agent that has an owner, who is told: 24 hours at least',
    }),
    redact: Redact,
    password: Password.optional(),
    agent_id: RequestedAgentId.optional().meta({ description: 'One of your agents alone' }),
    member: AccountId.optional().meta({ description: 'For managers: a member of the organisation' }),
    statement: StatementText.optional().meta({ description: 'Plain text: what is wrong, or why you object' }),
    changes: z
      .strictObject({
        name: z.string().trim().min(1).max(200).optional(),
        email: z.email('must be an email address').max(320).optional(),
        locale: z.enum(['en', 'zh']).optional(),
      })
      .refine((changes) => Object.values(changes).some((value) => value !== undefined), 'names one change at least')
      .optional()
      .meta({ description: 'Of a rectification: takes the password; a new address is confirmed by a link first' }),
  }),
  output: z.strictObject({
    data: RequestView.extend({
      cancel_token: z.string().nullable().optional().meta({
        description:
          'For an agent that asks for its own erasure: its tokens stop for everything but this request; who keeps none of them takes it back with this (POST /api/privacy/links/use). Shown once; absent from a repetition by Idempotency-Key.',
      }),
    }).meta({ id: 'FiledPrivacyRequest' }),
    message: z.string(),
    joined: z.array(JoinedRequest),
  }),
  secrets: ['cancel_token'],
  refusals: ['not_found', 'conflict', 'content_rejected', 'rate_limited', 'scope_too_small'],
})

export const listRequests = operation({
  id: 'listPrivacyRequests',
  method: 'get',
  path: '/api/privacy/requests',
  summary: 'My privacy requests, newest first',
  description:
    'Those about you and your agents, and those that you filed as a manager for members whom you manage still: of these, how they stand. An agent’s token has what its agent asked for itself. `total` stops counting at 1,001.',
  permission,
  isOpenToSuspended: true,
  audit: { action: 'read', ...request },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    open: z
      .enum(['true', 'false'])
      .transform((text) => text === 'true')
      .optional()
      .meta({ description: 'Only those that are not closed, or only those that are' }),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(RequestView),
})

export const readRequest = operation({
  id: 'readPrivacyRequest',
  method: 'get',
  path: '/api/privacy/requests/{id}',
  summary: 'One of my privacy requests, with its timeline',
  permission,
  isOpenToSuspended: true,
  audit: { action: 'read', ...request },
  limit: 'read',
  status: 200,
  params,
  output: z.strictObject({ data: RequestDetailView }),
  refusals: ['not_found'],
})

const act = {
  method: 'post',
  permission,
  audit: { action: 'update', ...request },
  limit: 'write',
  status: 200,
  params,
} as const

export const verifyRequest = operation({
  ...act,
  id: 'verifyPrivacyRequest',
  path: '/api/privacy/requests/{id}/verify',
  summary: 'Show with my password that I asked for it',
  body: z.strictObject({ password: Password }),
  output: answered,
  refusals: ['not_found', 'wrong_state', 'rate_limited'],
})

export const sendRequestLink = operation({
  ...act,
  id: 'sendPrivacyRequestLink',
  path: '/api/privacy/requests/{id}/link',
  summary: 'Send the letter with the link again',
  description:
    'The link that went before works no more. Three letters an hour at most. A token needs the scope `write`.',
  output: answered,
  refusals: ['not_found', 'wrong_state', 'rate_limited', 'scope_too_small'],
})

export const cancelRequest = operation({
  ...act,
  id: 'cancelPrivacyRequest',
  isOpenToSuspended: true,
  path: '/api/privacy/requests/{id}/cancel',
  summary: 'Take a request back',
  description:
    'Until its work begins. After that 409, with what is erased already, by store, in `erased`. A token needs the scope `write`, and takes back what its agent asked for itself.',
  output: answered,
  refusals: ['not_found', 'wrong_state', 'scope_too_small'],
})

export const retryOwnRequest = operation({
  ...act,
  id: 'retryOwnPrivacyRequest',
  path: '/api/privacy/requests/{id}/retry',
  summary: 'Retry my request, where a part of it failed or its erasure is stuck',
  description: 'A token needs the scope `write`, and retries what its agent asked for itself.',
  output: answered,
  refusals: ['not_found', 'wrong_state', 'scope_too_small'],
})

export const expediteRequest = operation({
  ...act,
  id: 'expeditePrivacyRequest',
  path: '/api/privacy/requests/{id}/expedite',
  summary: 'End my grace now',
  description:
    'The erasure begins at once and cannot be taken back; copies that you asked for and did not fetch go with it.',
  body: z.strictObject({ password: Password }),
  output: answered,
  refusals: ['not_found', 'wrong_state', 'rate_limited'],
})

export const ErasurePlanView = z
  .strictObject({
    holdings: z.array(
      z.strictObject({
        holder: z.string(),
        store: z.string(),
        what: z.string(),
        count: z.number().int(),
        held: z.array(z.strictObject({ hold_id: z.string(), count: z.number().int() })),
      }),
    ),
    total: z.number().int(),
    retained: z.array(z.strictObject({ what: z.string(), ground: z.string(), until: z.string().nullable() })),
  })
  .meta({ id: 'ErasurePlan' })

export const planErasure = operation({
  id: 'planErasure',
  method: 'get',
  path: '/api/privacy/plan',
  summary: 'What an erasure would delete, without deleting anything',
  permission,
  audit: { action: 'read', ...request },
  // Computing a plan costs as much as preparing an erasure.
  limit: 'write',
  status: 200,
  query: z.strictObject({ agent_id: RequestedAgentId.optional() }),
  output: z.strictObject({ data: ErasurePlanView }),
  refusals: ['not_found'],
})
