import { z } from 'zod'
import { SentEmailAddress } from '#lib/kernel/email-address.ts'
import { operation } from '#lib/kernel/operation.ts'
import { JoinedRequest, RequestId, RequestKindName, RequestView, StatementText } from './contract.ts'
import { ErasurePlanView } from './plan-contract.ts'
import { graces, requestKinds } from './rules.ts'

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
const request = { resourceType: 'request' } as const
const path = '/api/projects/{projectId}/participants/{participantId}/requests' as const

export const fileForParticipant = operation({
  id: 'filePrivacyRequestForParticipant',
  alsoStatus: [200],
  method: 'post',
  path,
  summary: 'File a privacy request for a participant of a project',
  description:
    'For owners of the project, managers of its organization and admins, who confirm the identity of the participant by filing. If a person claimed the participation, the request is about their account, and a link to their address confirms it. The outcome of access and portability names the export. Restriction takes effect at once: agents of the project do not read what the participant wrote, and write nothing on their behalf. An objection restricts in the same way until an admin decides about it.',
  permission: 'privacy:person',
  audit: { action: 'create', ...request },
  limit: 'write',
  status: 201,
  params: ofParticipant,
  body: z.strictObject({
    kinds: z
      .array(RequestKindName)
      .min(1, 'must name at least one kind')
      .max(requestKinds.length)
      .refine((list) => new Set(list).size === list.length, 'must name each kind once'),
    grace: z.enum(graces).optional().meta({ description: 'Grace period of an erasure; 24h if omitted' }),
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
  permission: 'privacy:person',
  audit: { action: 'read', ...request },
  limit: 'read',
  status: 200,
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
    'Until its work begins. For the owner, manager or admin who filed it; an admin refuses a request of somebody else with the reason.',
  permission: 'privacy:person',
  audit: { action: 'update', ...request },
  limit: 'write',
  status: 200,
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
  permission: 'privacy:person',
  audit: { action: 'read', ...request },
  // Computing a plan costs as much as preparing an erasure.
  limit: 'write',
  status: 200,
  params: ofParticipant,
  output: z.strictObject({ data: ErasurePlanView }),
  refusals: ['not_found', 'forbidden', 'conflict'],
})
