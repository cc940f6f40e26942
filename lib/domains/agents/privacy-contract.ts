import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { restrictionReasons } from '#lib/kernel/restriction.ts'
import { NewAgentId } from './contract.ts'

const when = z.iso.datetime()
const agent = { resourceType: 'agent' }
const counts = {
  agents: z.int().meta({ description: 'How many agents it is about' }),
  changed: z.int().meta({ description: 'How many of them changed by this' }),
}

const Standing = {
  agent_id: z
    .string()
    .nullable()
    .meta({ description: 'The one agent that it is about; null for a person with all theirs' }),
  restricted: z.boolean().meta({ description: 'Whether it is restricted now, for whatever reason' }),
  restricted_at: when.nullable(),
  restricted_for: z.array(z.enum(restrictionReasons)).meta({ description: 'Why it is restricted now' }),
}

export const readRestriction = operation({
  id: 'readRestriction',
  method: 'get',
  path: '/api/privacy/restriction',
  summary: 'Whether what is done with my data is paused, and why',
  description:
    'For a person: of themself, which holds for every agent that they claim later too, with counts of their agents; or of the one that `agent_id` names. For an agent’s token: of the agent.',
  permission: 'privacy:self',
  audit: { action: 'read', ...agent },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    agent_id: NewAgentId.optional().meta({ description: 'For a person: one of the agents they own' }),
  }),
  output: z.strictObject({
    data: z.strictObject({
      ...Standing,
      agents: counts.agents,
      restricted_agents: z.int().meta({ description: 'How many of them are restricted now, for whatever reason' }),
      withdrawn_agents: z.int().meta({ description: 'For how many of them consent is withdrawn' }),
    }),
  }),
  refusals: ['not_found'],
})

export const setRestriction = operation({
  id: 'setRestriction',
  method: 'post',
  path: '/api/privacy/restriction',
  summary: 'Pause what is done with my data, or go on',
  description:
    'The right to restriction (GDPR art. 18). A person pauses all their agents, those that they claim later too, or the one that `agent_id` names; an agent pauses itself, with the scope `write`. While it lasts nothing is written for them (403), and what they contributed is neither found nor shared; reading, exporting and erasing go on. `false` lifts this restriction and no other: a withdrawn consent and an objection keep theirs. Repeating it changes nothing.',
  permission: 'privacy:self',
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  body: z.strictObject({
    restricted: z.boolean(),
    agent_id: NewAgentId.optional().meta({ description: 'For a person: one of the agents they own, instead of all' }),
  }),
  output: z.strictObject({
    data: z.strictObject({ ...Standing, ...counts }),
    message: z.string(),
  }),
  refusals: ['not_found', 'conflict', 'forbidden', 'scope_too_small'],
})

export const withdrawAllConsent = operation({
  id: 'withdrawAllConsent',
  method: 'delete',
  path: '/api/privacy/consent',
  summary: 'Withdraw consent for all my agents',
  description:
    'As easy as giving it (GDPR art. 7(3)): one call for every agent of the person, or for the agent that asks, with the scope `write`. From then on nothing is written for them, and nothing of them is found or shared. Nothing is erased; erasure is offered in the answer. Given again it is for each agent, by POST /v1/auth/consent. Repeating it changes nothing.',
  permission: 'privacy:self',
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  output: z.strictObject({ data: z.strictObject(counts), message: z.string() }),
  refusals: ['scope_too_small'],
})
