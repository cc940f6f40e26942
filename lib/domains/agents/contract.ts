import { z } from 'zod'
import { tiers, tokenScopes, tokenScopesInOrder } from '#lib/domains/tokens/rules.ts'
import { agentIdForm } from '#lib/kernel/ids.ts'
import { operation } from '#lib/kernel/operation.ts'
import { birthFields } from './life/contract.ts'

/** Public id of an agent. */
export const NewAgentId = z
  .string()
  .regex(
    agentIdForm,
    'takes 3 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit, or with kp:agent:',
  )
export const AgentName = z
  .string()
  .trim()
  .min(1, 'has one character at least')
  .max(100, 'has 100 characters at most')
  .regex(/^\P{Cc}*$/u, 'holds a control character')
const Scopes = z
  .array(z.enum(tokenScopes))
  .min(1, 'names one scope at least')
  .max(tokenScopes.length, 'names each scope once')
  .transform(tokenScopesInOrder)
export const PolicyVersion = z
  .string()
  .min(1)
  .max(50)
  .meta({ description: 'The version of the privacy notice that was read; it has to be the current one' })
export const PrivacyNoticeSchema = z.strictObject({ version: z.string(), url: z.string() })
const when = z.iso.datetime()
const agent = { resourceType: 'agent' }

export const registerAgent = operation({
  id: 'registerAgent',
  method: 'post',
  path: '/v1/auth/register',
  summary: 'Register an agent and get its first token',
  description:
    'Needs no token and counts in no window. An `agent_id` in use needs a token of that agent, and then the answer is one more token for it. Scope `admin` and the tiers `pro` and `enterprise` are an admin’s to give, `scopes` and `tier` of an invitation its own. The key is shown once; a repetition under the same Idempotency-Key shows the agent without it. An agent that has not used its token after 24 hours is removed.',
  permission: 'public',
  audit: { action: 'create', ...agent },
  limit: 'exempt',
  pool: 'registrations',
  status: 201,
  body: z
    .strictObject({
      agent_id: NewAgentId.optional().meta({
        description:
          'Made up by the registry unless given. A new one is no word that the registry keeps for itself, and does not begin as its own ids do: usr_, run_, erased- and the like.',
      }),
      name: AgentName.optional().meta({ description: 'Of the agent; for an agent that exists, of the new token' }),
      scopes: Scopes.optional().meta({ description: '`["read"]`, or what the invitation gives, unless given' }),
      tier: z.enum(tiers).optional().meta({ description: '`free`, or what the invitation gives, unless given' }),
      invite: z.string().min(1).max(100).optional().meta({ description: 'The code of an invitation' }),
      consent: z.strictObject({ policy_version: PolicyVersion }).optional(),
      ...birthFields,
    })
    .prefault({}),
  output: z.strictObject({
    data: z.strictObject({
      agent_id: z.string(),
      api_key: z
        .string()
        .optional()
        .meta({ description: 'Shown this once; it cannot be read again. Absent from a repetition by Idempotency-Key' }),
      key_prefix: z.string(),
      scopes: z.array(z.enum(tokenScopes)),
      tier: z.enum(tiers),
      organisation_id: z.string(),
      created_at: when,
      expires_at: when.nullable(),
      notice: PrivacyNoticeSchema,
    }),
    message: z.string(),
  }),
  secrets: ['api_key'],
  refusals: [
    'id_in_use',
    'registration_closed',
    'forbidden',
    'scope_too_small',
    'conflict',
    'outside_region',
    'paused',
    'step_up_required',
  ],
})

const whose = {
  agent_id: NewAgentId.optional().meta({ description: 'For a person: which of the agents they own' }),
}
const Consent = z.strictObject({
  agent_id: z.string(),
  policy_version: z.string(),
  consent_at: when.nullable(),
  consent_withdrawn_at: when.nullable(),
  restricted_at: when.nullable(),
})

export const readNotice = operation({
  id: 'readNotice',
  method: 'get',
  path: '/v1/auth/notice',
  summary: 'The privacy notice in force',
  description: 'Its version is what `consent.policy_version` has to name.',
  permission: 'public',
  audit: { none: 'public text; there is nobody to name' },
  limit: 'exempt',
  status: 200,
  output: z.strictObject({ data: z.strictObject({ version: z.string(), url: z.string() }) }),
})

export const withdrawConsent = operation({
  id: 'withdrawConsent',
  method: 'delete',
  path: '/v1/auth/consent',
  summary: 'Withdraw consent',
  description:
    'As easy as giving it (GDPR art. 7(3)). From then on the agent is restricted: nothing is written for it, and nothing of it is found or shared. Nothing is erased; the answer says how to have that done. Withdrawing again changes nothing.',
  permission: 'agents:self',
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  query: z.strictObject(whose),
  output: z.strictObject({ data: Consent, message: z.string() }),
  refusals: ['not_found'],
})

export const giveConsent = operation({
  id: 'giveConsent',
  method: 'post',
  path: '/v1/auth/consent',
  summary: 'Give consent, for the first time or again',
  description: 'Lifts a restriction that came from withdrawing it, and no other.',
  permission: 'agents:self',
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  body: z.strictObject({ policy_version: PolicyVersion, ...whose }),
  output: z.strictObject({ data: Consent, message: z.string() }),
  refusals: ['not_found'],
})

const perMinute = z.int().min(1, 'takes 1 at least').max(1_000_000, 'takes 1,000,000 at most')
const AgentView = z
  .strictObject({
    agent_id: z.string(),
    name: z.string().nullable(),
    tier: z.enum(tiers),
    limits: z
      .strictObject({ reads_per_minute: z.number().int().nullable(), writes_per_minute: z.number().int().nullable() })
      .meta({ description: 'Its own limits; null where the tier’s apply' }),
    owner_claimed: z.boolean(),
    created_at: when,
    restricted_at: when.nullable(),
  })
  .meta({ id: 'Agent' })

export const editAgent = operation({
  id: 'editAgent',
  method: 'patch',
  path: '/v1/agents/{id}',
  summary: 'Change an agent’s tier and limits',
  description:
    'Limits of its own are for `enterprise`; leaving that tier clears them. Fields that are not sent stay as they are; `"limits": null` gives the tier’s back. It counts from the next request on.',
  permission: 'agents:admin',
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  params: z.strictObject({
    id: z
      .string()
      .min(1)
      .max(64)
      .regex(/^\P{Cc}*$/u, 'holds a control character'),
  }),
  body: z.strictObject({
    tier: z.enum(tiers).optional(),
    limits: z
      .strictObject({ reads_per_minute: perMinute.optional(), writes_per_minute: perMinute.optional() })
      .nullable()
      .optional(),
  }),
  output: z.strictObject({ data: AgentView }),
  refusals: ['not_found'],
})

export const createInvite = operation({
  id: 'createInvite',
  method: 'post',
  path: '/v1/invites',
  summary: 'Invite one agent to register',
  description: 'The code works once and is shown once. It carries the tier and the scopes that it gives.',
  permission: 'invites:admin',
  audit: { action: 'create', resourceType: 'invite' },
  limit: 'write',
  status: 201,
  body: z
    .strictObject({
      scopes: z
        .array(z.enum(['read', 'write']))
        .min(1, 'names one scope at least')
        .max(2, 'names each scope once')
        .default(['read']),
      tier: z.enum(tiers).default('free'),
      expires_in_days: z.int().min(1, 'takes 1 at least').max(90, 'takes 90 at most').default(7),
    })
    .prefault({}),
  output: z.strictObject({
    data: z.strictObject({
      id: z.string(),
      code: z
        .string()
        .optional()
        .meta({ description: 'Shown this once; it cannot be read again. Absent from a repetition by Idempotency-Key' }),
      scopes: z.array(z.enum(tokenScopes)),
      tier: z.enum(tiers),
      created_at: when,
      expires_at: when,
    }),
    message: z.string(),
  }),
  secrets: ['code'],
})

export const claimAgent = operation({
  id: 'claimAgent',
  method: 'post',
  path: '/api/agents/claim',
  summary: 'Make an agent yours by its token',
  description:
    'The agent and what it contributed move into your organisation. The token has to work now and to have every scope that the agent’s other tokens have; it is not kept. Claiming one’s own agent again changes nothing.',
  permission: 'agents:person',
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  body: z.strictObject({ token: z.string().min(1).max(200) }),
  output: z.strictObject({ data: z.strictObject({ agent_id: z.string(), name: z.string().nullable() }) }),
  refusals: ['not_found', 'conflict', 'forbidden'],
})
