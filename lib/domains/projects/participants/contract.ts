import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { restrictionReasons } from '#lib/kernel/restriction.ts'
import { Id, when } from '../contract.ts'
import { SingleLine } from '../rules.ts'
import { Author, ExternalId, ParticipantEmail } from './rules.ts'

export const ParticipantView = z
  .strictObject({
    id: z.string(),
    project_id: z.string(),
    external_id: z.string(),
    name: z.string().nullable(),
    email: z.string().nullable().meta({
      description: 'As reported; null for readers other than owners, managers and admins',
    }),
    email_confirmed: z.boolean(),
    claimed: z.boolean().meta({ description: 'Whether a person connected the participation to their account' }),
    claimed_at: when.nullable(),
    restricted_at: when.nullable().meta({
      description:
        'Since when the processing of their data is restricted: agents cannot read it, and messages are only stored',
    }),
    restricted_for: z.array(z.enum(restrictionReasons)).meta({
      description: 'Why, except for a restriction of the account that claimed the participation',
    }),
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'ProjectParticipant' })
export type ParticipantView = z.output<typeof ParticipantView>

/** A participant with the amount of content that was written on their behalf. */
const CountedParticipant = z
  .strictObject({ ...ParticipantView.shape, messages: z.number().int() })
  .meta({ id: 'CountedProjectParticipant' })

const ParticipationView = z
  .strictObject({
    id: z.string(),
    project: z.string().meta({ description: 'The name of the project' }),
    name: z.string().nullable().meta({ description: 'As the application reported it' }),
    claimed: z.boolean().meta({ description: 'False: you can claim the participation' }),
    claimed_at: when.nullable(),
    messages: z.number().int(),
    documents: z.number().int(),
    created_at: when,
  })
  .meta({ id: 'Participation' })

const participant = { resourceType: 'participant' } as const
const params = z.strictObject({ projectId: Id })
const ofOne = z.strictObject({ projectId: Id, participantId: Id })

export const listParticipants = operation({
  id: 'listParticipants',
  method: 'get',
  path: '/api/projects/{projectId}/participants',
  summary: 'List the participants of a project, newest first',
  description:
    'A participant is a person on whose behalf an agent writes. For members, managers of the organization and admins.',
  permission: 'projects:read',
  audit: participant,
  params,
  query: z.strictObject({
    external_id: ExternalId.optional(),
    q: z
      .string()
      .max(200, 'must have at most 200 characters')
      .refine((text) => !text.includes('\0') && text.isWellFormed(), 'is not valid text')
      .optional()
      .meta({ description: 'A part of the name or `external_id`, or of an email address that you may see' }),
    unconfirmed: z.enum(['true', 'false']).optional().meta({ description: 'Only with an address to confirm' }),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(CountedParticipant),
  refusals: ['not_found'],
})

export const readParticipant = operation({
  id: 'readParticipant',
  method: 'get',
  path: '/api/projects/{projectId}/participants/{participantId}',
  summary: 'Read a participant of a project',
  permission: 'projects:read',
  audit: participant,
  params: ofOne,
  output: z.strictObject({ data: CountedParticipant }),
  refusals: ['not_found'],
})

export const registerParticipant = operation({
  id: 'registerParticipant',
  method: 'post',
  path: '/api/projects/{projectId}/participants',
  summary: 'Register a participant, or report their name',
  description:
    'For tokens of agents that are members of the project, like a message with an `author`. An `email` counts for claims if the agent or its owner owns the project, and nothing was written before or the token has the scope `privacy`.',
  permission: 'projects:write',
  stores: 'one record',
  audit: { action: 'update', ...participant },
  params,
  body: Author,
  output: z.strictObject({ data: ParticipantView }),
  secrets: ['name', 'email', 'external_id'],
  refusals: ['not_found', 'forbidden', 'erased', 'fenced', 'conflict', 'wrong_state', 'restricted'],
})

export const editParticipant = operation({
  id: 'editParticipant',
  method: 'patch',
  path: '/api/projects/{projectId}/participants/{participantId}',
  summary: 'Correct the name or email address of a participant, or connect an account',
  description:
    'For owners, managers of the organization and admins. Only owners (tokens: with the scope `privacy`) connect an account or change an address, never their own. An owner or admin confirms a reported address by sending it; an admin may add a missing one. The address of a claimed participation cannot change. An admin disconnects an account with `account_id: null`, and with `email: null` also removes its wrong address.',
  permission: 'projects:write',
  audit: participant,
  params: ofOne,
  body: z
    .strictObject({
      name: SingleLine.nullable().optional(),
      email: ParticipantEmail.nullable().optional(),
      account_id: Id.nullable().optional(),
    })
    .refine((body) => Object.values(body).some((value) => value !== undefined), 'must contain at least one change'),
  output: z.strictObject({ data: ParticipantView }),
  refusals: ['not_found', 'forbidden', 'fenced', 'conflict', 'wrong_state'],
})

export const liftRestriction = operation({
  id: 'liftParticipantRestriction',
  method: 'delete',
  path: '/api/projects/{projectId}/participants/{participantId}/restriction',
  summary: 'Lift the restriction of a participant',
  description:
    'For owners, managers of the organization and admins, unless a person claimed the participation: then only that person lifts it. Others need a recently entered password. Inform the participant before (GDPR art. 18(3)). A restriction caused by an objection ends when an admin refuses the objection. To restrict, file a request of the kind `restriction`.',
  permission: 'privacy:person',
  audit: { action: 'update', ...participant },
  params: ofOne,
  output: z.strictObject({ data: ParticipantView }),
  refusals: ['not_found', 'forbidden', 'conflict'],
})

export const exportParticipant = operation({
  id: 'exportParticipant',
  method: 'get',
  path: '/api/projects/{projectId}/participants/{participantId}/export',
  summary: 'Export everything that is stored about a participant',
  description:
    'NDJSON: a header line, a line `{part, …record}` for each record, and a last line with the totals. For owners and the person who claimed the participation; for managers of the organization and admins within 30 days after a request for access or portability. `scope=provided`: the data that the participant provided; `all`: also derived data.',
  permission: 'projects:read',
  audit: { action: 'export', ...participant },
  params: ofOne,
  query: z.strictObject({ scope: z.enum(['provided', 'all']).default('all') }),
  contributed: true,
  output: z.string(),
  produces: ['application/x-ndjson'],
  refusals: ['not_found', 'forbidden'],
})

export const listParticipations = operation({
  id: 'listParticipations',
  method: 'get',
  path: '/api/participations',
  summary: 'List participations that you claimed or can claim',
  description:
    'A participation is claimable if it has your verified email address, confirmed, and no account has claimed it.',
  permission: 'participations:person',
  isOpenWithoutSecondFactor: true,
  audit: participant,
  output: z.strictObject({
    data: z.array(ParticipationView),
    address_verified: z.boolean().meta({
      description:
        'You proved that you receive email at your address: through a link sent to it, or through an identity provider that vouches for it',
    }),
  }),
})

export const claimParticipation = operation({
  id: 'claimParticipation',
  method: 'post',
  path: '/api/participations/{participantId}/claim',
  summary: 'Connect a participation to your account',
  description:
    'The participation must have your verified email address, confirmed. From then on your data overview, exports and erasure cover what was written on your behalf. An account cannot give a claimed participation back, and no other account can claim it.',
  permission: 'participations:person',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'update', ...participant },
  params: z.strictObject({ participantId: Id }),
  output: z.strictObject({ data: z.strictObject({ id: z.string(), claimed_at: when }) }),
  refusals: ['not_found', 'forbidden', 'fenced', 'conflict', 'wrong_state'],
})
