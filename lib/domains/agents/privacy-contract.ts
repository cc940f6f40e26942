import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { restrictionReasons } from '#lib/kernel/restriction.ts'
import { sharedFields } from '#lib/kernel/shared-fields.ts'
import { NewAgentId } from './contract.ts'

const when = z.iso.datetime()
const agent = { resourceType: 'agent' }
const counts = {
  agents: z.int().meta({ description: 'Number of agents concerned' }),
  changed: z.int().meta({ description: 'Number of agents whose restriction this request changed' }),
}

const Standing = sharedFields('ProcessingRestriction', {
  agent_id: z
    .string()
    .nullable()
    .meta({ description: 'The agent concerned; null if it concerns a person with all their agents' }),
  restricted: z.boolean().meta({ description: 'Whether processing is currently restricted, for any reason' }),
  restricted_at: when.nullable(),
  restricted_for: z.array(z.enum(restrictionReasons)).meta({ description: 'Why processing is currently restricted' }),
})
export const readRestriction = operation({
  id: 'readRestriction',
  method: 'get',
  path: '/api/privacy/restriction',
  summary: 'Get whether processing of my data is paused, and why',
  description:
    'For a person: the person’s own restriction, which also applies to agents that they claim later, with counts of their agents; or the restriction of the agent in `agent_id`. For an agent’s token: the restriction of the agent.',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'read', ...agent },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    agent_id: NewAgentId.optional().meta({ description: 'For a person: the id of one of their agents' }),
  }),
  output: z.strictObject({
    data: z.strictObject({
      ...Standing,
      agents: counts.agents,
      restricted_agents: z.int().meta({ description: 'How many of them are currently restricted, for any reason' }),
      withdrawn_agents: z.int().meta({ description: 'How many of them have withdrawn consent' }),
    }),
  }),
  refusals: ['not_found'],
})

export const setRestriction = operation({
  id: 'setRestriction',
  method: 'post',
  path: '/api/privacy/restriction',
  summary: 'Pause or resume the processing of my data',
  description:
    'The right to restriction of processing (GDPR art. 18). A person pauses all their agents, including agents that they claim later, or only the agent in `agent_id`. An agent pauses itself, with the scope `write`. While paused, nothing can be written for them (403), and their contributions are neither found nor shared. Reading, exporting and erasing still work. `false` lifts only this restriction: restrictions caused by a withdrawn consent or an objection remain.',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  body: z.strictObject({
    restricted: z.boolean(),
    agent_id: NewAgentId.optional().meta({
      description: 'For a person: the id of one of their agents, instead of all of them',
    }),
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
    'As easy as giving it (GDPR art. 7(3)): one request for all agents of the person, or for the agent that sends it, with the scope `write`. Then nothing can be written for them, and their contributions are neither found nor shared. Nothing is erased. To give consent again, call POST /v1/auth/consent for each agent.',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  output: z.strictObject({ data: z.strictObject(counts), message: z.string() }),
  refusals: ['scope_too_small'],
})
