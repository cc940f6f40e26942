import { z } from 'zod'
import { tiers, tokenScopes } from '#lib/domains/tokens/rules.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { restrictionReasons } from '#lib/kernel/restriction.ts'
import { AgentName, NewAgentId, PolicyVersion, PrivacyNoticeSchema } from './contract.ts'
import { AgentParam, birthFields, lifeFields } from './life/contract.ts'
import { agentStates, mostUnusedAgents, ownAgentsCountedTo } from './rules.ts'

const when = z.iso.datetime()
const agent = { resourceType: 'agent' }

/** An agent in its owner's list. */
export const OwnAgent = z
  .strictObject({
    agent_id: z.string(),
    name: z.string().nullable(),
    tier: z.enum(tiers),
    created_at: when,
    ...lifeFields,
    state: z.enum(agentStates).meta({
      description:
        '`paused`: nothing is written for it, nothing of it is found. `suspended`: its erasure was asked for and waits; its tokens stand still. `erasing`: its erasure runs.',
    }),
    restricted_at: when.nullable(),
    restricted_for: z.array(z.enum(restrictionReasons)).meta({ description: 'Why it is paused' }),
    holds: z
      .strictObject({
        units: z.int(),
        skills: z.int(),
        tokens: z.int().meta({ description: 'Those that work now' }),
        reputation: z.number(),
      })
      .meta({ description: `Counting stops at ${ownAgentsCountedTo.toLocaleString('en')}` }),
    token_limit: z.int().meta({ description: 'How many of its tokens may work at once' }),
  })
  .meta({ id: 'OwnAgent' })
export type OwnAgent = z.output<typeof OwnAgent>

export const listOwnAgents = operation({
  id: 'listOwnAgents',
  method: 'get',
  path: '/api/agents',
  summary: 'Agents that you own, newest first',
  permission: 'agents:person',
  audit: { action: 'read', ...agent },
  limit: 'read',
  status: 200,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(OwnAgent),
})

export const readOwnAgent = operation({
  id: 'readOwnAgent',
  method: 'get',
  path: '/api/agents/{id}',
  summary: 'One of the agents that you own',
  description: 'Another’s looks like none: 404.',
  permission: 'agents:person',
  audit: { action: 'read', ...agent },
  limit: 'read',
  status: 200,
  params: z.strictObject({
    id: z
      .string()
      .min(1)
      .max(64)
      .regex(/^\P{Cc}*$/u, 'holds a control character'),
  }),
  output: z.strictObject({
    data: OwnAgent.extend({
      first_used_at: when.nullable().meta({ description: 'When a token of it was first used' }),
      is_paused_with_all: z.boolean().meta({
        description: 'You paused all your agents together; that pause is lifted for all of them together',
      }),
      consent: z.strictObject({
        lawful_basis: z.string(),
        policy_version: z.string(),
        given_at: when.nullable(),
        via: z.string().nullable(),
        withdrawn_at: when.nullable(),
      }),
      notice: PrivacyNoticeSchema.meta({
        description: 'The privacy notice in force; consent given now is to this one',
      }),
    }),
  }),
  refusals: ['not_found'],
})

export const createOwnAgent = operation({
  id: 'createOwnAgent',
  method: 'post',
  path: '/api/agents',
  summary: 'Create an agent that is yours, with its first token',
  description: `It belongs to you and to your organisation from the start. Consent to the privacy notice in force is given here, explicitly. The first token has the scopes \`read\` and \`write\`; its key is shown once, and a repetition under the same Idempotency-Key shows the agent without it. Where registration is closed, only admins create agents. ${mostUnusedAgents} agents of yours at most may be without a single use. While all your agents are paused the new one is paused too.`,
  permission: 'agents:person',
  audit: { action: 'create', ...agent },
  limit: 'write',
  status: 201,
  body: z.strictObject({
    agent_id: NewAgentId.optional().meta({ description: 'Made up by the registry unless given' }),
    name: AgentName.optional(),
    consent: z.strictObject({ policy_version: PolicyVersion }),
    ...birthFields,
    ancestor: AgentParam.optional().meta({
      description: 'A living agent of yours: the new one becomes a sibling of it and of its other siblings',
    }),
  }),
  output: z.strictObject({
    data: z.strictObject({
      agent_id: z.string(),
      name: z.string().nullable(),
      api_key: z
        .string()
        .optional()
        .meta({ description: 'Shown this once; it cannot be read again. Absent from a repetition by Idempotency-Key' }),
      key_prefix: z.string(),
      token_id: z.string(),
      scopes: z.array(z.enum(tokenScopes)),
      tier: z.enum(tiers),
      organisation_id: z.string(),
      created_at: when,
      is_paused: z.boolean(),
    }),
    message: z.string(),
  }),
  secrets: ['api_key'],
  refusals: ['id_in_use', 'registration_closed', 'conflict', 'fenced', 'outside_region'],
})
