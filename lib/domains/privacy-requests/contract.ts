import { z } from 'zod'
import { SentEmailAddress } from '#lib/kernel/email-address.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { RunDetail } from './erasures/contract.ts'
import {
  channels,
  dueTags,
  graces,
  identityProofs,
  parties,
  partStates,
  requestKinds,
  requestSubjects,
  states,
} from './rules.ts'

const when = z.iso.datetime()
const whenever = when.nullable()
export const RequestId = z.string().regex(/^preq_[0-9A-Za-z]{22}$/, 'is not the id of a privacy request')
export const RequestedAgentId = z.string().regex(/^[\w.:-]{1,200}$/, 'is not the id of an agent')
export const AccountId = z.string().regex(/^usr_[0-9A-Za-z]{22}$/, 'is not the id of an account')
export const RequestStateName = z.enum(states).meta({ id: 'PrivacyRequestState' })
export const RequestKindName = z.enum(requestKinds).meta({ id: 'PrivacyRequestKind' })
const Password = z.string().min(1).max(200)
export const StatementText = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(4_000, 'must have at most 4,000 characters')
/** Ids, codes, counts and times, by name. */
export const EventFacts = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))

const PartView = z
  .strictObject({
    kind: RequestKindName,
    state: z.enum(partStates),
    started_at: whenever,
    finished_at: whenever,
    outcome: EventFacts,
  })
  .meta({ id: 'PrivacyRequestPart' })

const requestFields = {
  id: RequestId,
  kinds: z.array(RequestKindName),
  parts: z.array(PartView),
  channel: z.enum(channels),
  state: RequestStateName,
  subject: z.enum(requestSubjects),
  agent_id: z.string().nullable(),
  participant_id: z.string().nullable().meta({ description: 'For a request about a participant of a project' }),
  grace: z.enum(graces).nullable(),
  redact: z.boolean().meta({
    description: 'For an erasure: also remove the name from texts of others in the projects’ graphs',
  }),
  received_at: when,
  verified_by: z.string().nullable().meta({ description: 'password, link, token, admin or manager' }),
  verified_at: whenever,
  waiting_until: whenever.meta({ description: 'When the grace period ends' }),
  started_at: whenever,
  due_at: whenever.meta({
    description: 'Our own deadline: 72 hours after verification or the end of the grace period',
  }),
  legal_due_at: when.meta({
    description: 'The legal deadline: one month from receipt (GDPR art. 12(3)), including extensions and pauses',
  }),
  due: z
    .enum(dueTags)
    .meta({ description: 'near: less than a quarter of the time remains; stopped: no deadline applies any more' }),
  seconds_left: z
    .number()
    .int()
    .nullable()
    .meta({ description: 'Until the earlier of the two deadlines; negative after it' }),
  extended: z.boolean(),
  paused: z.strictObject({ since: when, reason: z.string() }).nullable(),
  closed_at: whenever,
  receipt_id: z.string().nullable().meta({
    description:
      'For an erasure: reserved when it is requested. GET /v1/receipts/{id} returns the receipt after the verification.',
  }),
  can_cancel: z.boolean(),
  for_member: z
    .boolean()
    .meta({ description: 'You filed it as a manager for a member. Only the member can act on it' }),
}
export const RequestView = z.strictObject(requestFields).meta({ id: 'PrivacyRequest' })
export type RequestView = z.output<typeof RequestView>

export const EventView = z
  .strictObject({
    at: when,
    by: z.enum(parties),
    event: z.string(),
    from: RequestStateName.nullable(),
    to: RequestStateName.nullable(),
    details: EventFacts,
    note: z.string().nullable(),
  })
  .meta({ id: 'PrivacyRequestEvent' })

export const RequestDetailView = z
  .strictObject({
    ...requestFields,
    statement: z
      .string()
      .nullable()
      .meta({ description: 'The subject’s own text; deleted when the request is closed' }),
    timeline: z.array(EventView),
    erasure: RunDetail.nullable(),
  })
  .meta({ id: 'PrivacyRequestDetail' })

const permission = 'privacy:self'
const request = { resourceType: 'request' }
const params = z.strictObject({ id: RequestId })
const answered = z.strictObject({ data: RequestView, message: z.string() })
const asked = z
  .array(RequestKindName)
  .min(1, 'must name at least one kind')
  .max(requestKinds.length)
  .refine((list) => new Set(list).size === list.length, 'must name each kind once')

export const Redact = z.boolean().optional().meta({
  description:
    'For the erasure of a person: also remove their name and email address from texts of others in the graphs of their projects. A single-word name is not removed. Messages and documents of others do not change',
})

export const JoinedRequest = z
  .strictObject({ kind: RequestKindName, request_id: RequestId })
  .meta({ id: 'JoinedPrivacyRequest' })

export const fileRequest = operation({
  id: 'filePrivacyRequest',
  alsoStatus: [200],
  method: 'post',
  path: '/api/privacy/requests',
  summary: 'Request access, portability, rectification, restriction or erasure, or object',
  description:
    'For yourself, for one of your agents, or, as a manager, for a member of your organization. With the correct password the request is verified immediately; otherwise a link is sent to the address on file. An agent’s token verifies requests about that agent only. If a request of this kind is already open, it is returned with 200. If the open request is unconfirmed, a requester who proves their identity joins it only by requesting everything in it, and an erasure then has the grace period of their call. Otherwise the kinds that they request move from the unconfirmed request into a new request of their own. A token joins only requests by its own agent.',
  permission,
  isOpenWithoutSecondFactor: true,
  audit: request,
  body: z.strictObject({
    kinds: asked,
    grace: z.enum(graces).optional().meta({
      description:
        'Grace period of an erasure, by default 24 hours. At least 24 hours if a token requests it for an agent with an owner; the owner is notified',
    }),
    redact: Redact,
    password: Password.optional(),
    confirm_in_person: z.boolean().optional().meta({
      description:
        'The token proves nothing: the owner of the agent confirms the request, or an admin for an agent without an owner',
    }),
    agent_id: RequestedAgentId.optional().meta({ description: 'Only this agent of yours' }),
    member: AccountId.optional().meta({ description: 'For managers: a member of the organization' }),
    statement: StatementText.optional().meta({ description: 'Plain text: what is wrong, or why you object' }),
    changes: z
      .strictObject({
        name: z.string().trim().min(1).max(200).optional(),
        email: SentEmailAddress.optional(),
        locale: z.enum(['en', 'zh']).optional(),
      })
      .refine(
        (changes) => Object.values(changes).some((value) => value !== undefined),
        'must contain at least one change',
      )
      .optional()
      .meta({
        description: 'For a rectification. Requires the password. A new address must first be confirmed by a link',
      }),
  }),
  output: z.strictObject({
    data: RequestView.extend({
      cancel_token: z.string().nullable().optional().meta({
        description:
          'Its tokens are suspended, except for this request. A client that kept no token can cancel the request with this code (POST /api/privacy/links/use). Shown once; absent from a repetition by Idempotency-Key.',
      }),
    }).meta({ id: 'FiledPrivacyRequest' }),
    message: z.string(),
    joined: z.array(JoinedRequest),
  }),
  secrets: ['cancel_token'],
  refusals: ['not_found', 'conflict', 'content_rejected', 'rate_limited', 'scope_too_small', 'step_up_required'],
})

export const listRequests = operation({
  id: 'listPrivacyRequests',
  method: 'get',
  path: '/api/privacy/requests',
  summary: 'List my privacy requests, newest first',
  description:
    'Requests about you and your agents, and the status of requests that you filed as a manager for members whom you still manage. An agent’s token sees only requests by its agent. `total` stops counting at 1,001.',
  permission,
  isOpenWithoutSecondFactor: true,
  isOpenToSuspended: true,
  audit: request,
  query: z.strictObject({
    open: z
      .enum(['true', 'false'])
      .transform((text) => text === 'true')
      .optional()
      .meta({ description: 'Only open requests, or only closed requests' }),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(RequestView),
})

export const readRequest = operation({
  id: 'readPrivacyRequest',
  method: 'get',
  path: '/api/privacy/requests/{id}',
  summary: 'Get one of my privacy requests, with its timeline',
  permission,
  isOpenWithoutSecondFactor: true,
  isOpenToSuspended: true,
  audit: request,
  params,
  output: z.strictObject({ data: RequestDetailView }),
  refusals: ['not_found'],
})

const act = {
  method: 'post',
  permission,
  isOpenWithoutSecondFactor: true,
  audit: { action: 'update', ...request },
  params,
} as const

export const verifyRequest = operation({
  ...act,
  id: 'verifyPrivacyRequest',
  path: '/api/privacy/requests/{id}/verify',
  summary: 'Confirm a request with my password',
  body: z.strictObject({ password: Password }),
  output: answered,
  refusals: ['not_found', 'wrong_state', 'rate_limited', 'step_up_required'],
})

export const sendRequestLink = operation({
  ...act,
  id: 'sendPrivacyRequestLink',
  path: '/api/privacy/requests/{id}/link',
  summary: 'Resend the email with the confirmation link',
  description: 'The previous link stops working. At most three emails per hour. A token needs the scope `write`.',
  output: answered,
  refusals: ['not_found', 'wrong_state', 'rate_limited', 'scope_too_small'],
})

export const cancelRequest = operation({
  ...act,
  id: 'cancelPrivacyRequest',
  isOpenToSuspended: true,
  path: '/api/privacy/requests/{id}/cancel',
  summary: 'Cancel a request',
  description:
    'Works until processing begins. After that the request returns 409 with the data already erased, by store, in `erased`. A token needs the scope `write`, and cancels only requests by its agent.',
  output: answered,
  refusals: ['not_found', 'wrong_state', 'scope_too_small'],
})

export const retryOwnRequest = operation({
  ...act,
  id: 'retryOwnPrivacyRequest',
  path: '/api/privacy/requests/{id}/retry',
  summary: 'Retry a request that partly failed, or whose erasure is stuck',
  description: 'A token needs the scope `write`, and retries only requests by its agent.',
  output: answered,
  refusals: ['not_found', 'wrong_state', 'scope_too_small'],
})

export const expediteRequest = operation({
  ...act,
  id: 'expeditePrivacyRequest',
  path: '/api/privacy/requests/{id}/expedite',
  summary: 'End my grace period now',
  description:
    'The erasure begins immediately and cannot be undone. Requested copies that you have not downloaded are erased too.',
  body: z.strictObject({ password: Password }),
  output: answered,
  refusals: ['not_found', 'wrong_state', 'rate_limited', 'step_up_required'],
})

const ErasurePlanView = z
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
    /**
     * With `redact`: places in texts of others that lose a name of the subject, and those that keep one. Missing if a name is newer than 45
     * days, or if the places cannot be read soon.
     */
    names: z.strictObject({ removed: z.number().int(), kept: z.number().int() }).optional().meta({
      description: 'Each count ends at 200',
    }),
    remaining_projects: z.number().int().optional().meta({
      description: 'Owned open projects that others use. An erasure keeps them',
    }),
    unclaimed_participations: z.number().int().optional().meta({
      description:
        'Participations with your verified address that you have not claimed. An erasure keeps them: claim them first',
    }),
    unconfirmed_participations: z.number().int().optional().meta({
      description: 'The same, but you cannot claim them before the organization confirms the address',
    }),
  })
  .meta({ id: 'ErasurePlan' })

export const planErasure = operation({
  id: 'planErasure',
  method: 'get',
  path: '/api/privacy/plan',
  summary: 'Preview what an erasure would delete, without deleting anything',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'request' },
  // Computing a plan costs as much as preparing an erasure.
  limit: 'write',
  query: z.strictObject({ agent_id: RequestedAgentId.optional(), redact: z.enum(['true', 'false']).optional() }),
  output: z.strictObject({ data: ErasurePlanView }),
  refusals: ['not_found'],
})

const ProjectRef = z
  .string()
  .min(1)
  .max(200)
  .refine((id) => !id.includes('\0') && id.isWellFormed(), 'is not an id')
const PersonName = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .refine((text) => text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text), 'must not contain control characters')
const Address = z.string().trim().toLowerCase().pipe(SentEmailAddress)
const ofParticipant = z.strictObject({ projectId: ProjectRef, participantId: ProjectRef })
const participantErasure = { resourceType: 'request' } as const
const path = '/api/projects/{projectId}/participants/{participantId}/requests' as const

export const fileForParticipant = operation({
  id: 'filePrivacyRequestForParticipant',
  alsoStatus: [200],
  method: 'post',
  path,
  summary: 'File a privacy request for a participant of a project',
  description:
    'For owners of the project, managers of its organization and admins, who confirm the identity of the participant by filing. If a person claimed the participation, the request is about their account, and a link to their address confirms it. The outcome of access and portability names the export. Restriction takes effect at once: agents of the project do not read what the participant wrote, and write nothing on their behalf. An objection restricts in the same way until an admin decides about it. A token files access, portability and erasure for participants without an account, in projects that its agent is a member of and the owner of the agent owns. After a changed sign-in of the owner, it needs a rotation.',
  permission: 'participants:privacy',
  audit: participantErasure,
  params: ofParticipant,
  body: z.strictObject({
    kinds: z
      .array(RequestKindName)
      .min(1, 'must name at least one kind')
      .max(requestKinds.length)
      .refine((list) => new Set(list).size === list.length, 'must name each kind once'),
    grace: z.enum(graces).optional().meta({ description: 'Grace period of an erasure; 24h if omitted' }),
    identity: z.enum(identityProofs).optional().meta({
      description: 'How your application confirmed the identity of the person. Tokens must state it; it is recorded',
    }),
    statement: StatementText.optional().meta({
      description: 'What must be corrected, or the grounds of the objection',
    }),
    changes: z
      .strictObject({ name: PersonName.optional(), email: Address.optional() })
      .refine(({ name, email }) => name !== undefined || email !== undefined, 'must contain at least one change')
      .optional()
      .meta({
        description:
          'For a rectification: the right name and email address, which are corrected immediately. Only owners of the project can change an address, and nobody can enter their own; an admin may add a missing address. Not allowed after a person claimed the participation: they correct their account',
      }),
  }),
  output: z.strictObject({
    data: RequestView,
    message: z.string(),
    joined: z.array(JoinedRequest),
  }),
  refusals: [
    'not_found',
    'forbidden',
    'fenced',
    'conflict',
    'content_rejected',
    'rate_limited',
    'step_up_required',
    'approval_required',
  ],
})

export const listForParticipant = operation({
  id: 'listPrivacyRequestsForParticipant',
  method: 'get',
  path,
  summary: 'List the privacy requests about a participant, newest first',
  description:
    'For owners of the project, managers of its organization and admins. The newest 100. Requests about the account of a person who claimed the participation appear only to those who filed them.',
  permission: 'participants:privacy',
  audit: participantErasure,
  params: ofParticipant,
  output: z.strictObject({ data: z.array(RequestView) }),
  refusals: ['not_found', 'forbidden'],
})

export const cancelForParticipant = operation({
  id: 'cancelPrivacyRequestForParticipant',
  method: 'post',
  path: `${path}/{id}/cancel`,
  summary: 'Cancel a privacy request about a participant',
  description:
    'Until its work begins. For the person who filed it, or owns the agent that filed it; an admin refuses other requests with the reason.',
  permission: 'participants:privacy',
  audit: { action: 'update', ...participantErasure },
  params: ofParticipant.extend({ id: RequestId }),
  output: z.strictObject({ data: RequestView, message: z.string() }),
  refusals: ['not_found', 'forbidden', 'wrong_state'],
})

export const planForParticipant = operation({
  id: 'planErasureForParticipant',
  method: 'get',
  path: '/api/projects/{projectId}/participants/{participantId}/plan',
  summary: 'What an erasure of a participant would delete, without deleting anything',
  description:
    'For owners of the project, managers of its organization and admins. Not after a person claimed the participation: the erasure is then about their account.',
  permission: 'participants:privacy',
  audit: participantErasure,
  // Computing a plan costs as much as preparing an erasure.
  limit: 'write',
  params: ofParticipant,
  output: z.strictObject({ data: ErasurePlanView }),
  refusals: ['not_found', 'forbidden', 'conflict'],
})

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
  body: z.strictObject({
    token: z.string().min(1).max(200),
    purpose: z.enum(['verify', 'cancel', 'address']),
  }),
  output: z.strictObject({
    data: z.strictObject({ purpose: z.enum(['verify', 'cancel', 'address']), state: RequestStateName }),
  }),
  refusals: ['link_spent', 'wrong_state', 'conflict', 'rate_limited'],
})
