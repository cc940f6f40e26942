import { z } from 'zod'
import { tiers } from '#lib/domains/tokens/rules.ts'
import { DataRegion } from '#lib/kernel/data-regions.ts'
import { operation } from '#lib/kernel/operation.ts'
import { sharedFields } from '#lib/kernel/shared-fields.ts'
import { agentStatuses } from './rules.ts'

const when = z.iso.datetime()
const agent = { resourceType: 'agent' } as const
/** An agent's id in a path; also accepts ids that earlier versions allowed. */
export const AgentParam = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
export const agentParams = z.strictObject({ id: AgentParam })

/** Fixed properties and settings of an agent. */
export const lifeFields = sharedFields('AgentLife', {
  status: z.enum(agentStatuses).meta({
    id: 'AgentStatus',
    description:
      'Set by its owner. `paused`: the agent can read but not write. `dead`: the agent is retired, and for 24 hours its tokens can only export heartbeats. A restriction of processing is reported in `restricted_at`.',
  }),
  status_at: when
    .nullable()
    .meta({ description: 'When this status was set; null if it has not changed since creation' }),
  died_at: when.nullable(),
  region: z.string().nullable().meta({ description: 'Fixed at creation; null: no region is required' }),
  self_hosted: z.boolean().meta({
    description:
      'The agent runs and stores its memory elsewhere. Only shared data is stored here, and nothing else is accepted',
  }),
  automatic_snapshots: z.boolean().meta({
    description:
      'Whether a snapshot is created every six hours. An agent without a keyring has none, because nobody could open it',
  }),
})
/** Properties that are set at creation and never change. */
export const birthFields = {
  region: DataRegion.optional().meta({
    description:
      'Region in which all data of the agent must be stored. Rejected (`outside_region`) if a store or a service of this installation is in another region.',
  }),
  self_hosted: z.boolean().optional().meta({
    description:
      'The agent runs and stores its memory elsewhere. Only data that it shares is stored here. Requests to store other data here (documents, heartbeats, blockchain references, a keyring, entries, a state, logged exchanges) are rejected (`conflict`).',
  }),
}

export const LivingAgent = z
  .strictObject({
    agent_id: z.string(),
    name: z.string().nullable(),
    tier: z.enum(tiers),
    ...lifeFields,
    restricted_at: when.nullable(),
    owner_claimed: z.boolean(),
    grimoire_days: z
      .int()
      .nullable()
      .meta({ description: 'Days after which a grimoire entry is deleted; null: never' }),
    sharing_since: when.nullable().meta({ description: 'When sharing with siblings was switched on; null: off' }),
    created_at: when,
  })
  .meta({ id: 'LivingAgent' })
export type LivingAgent = z.output<typeof LivingAgent>

export const readAgent = operation({
  id: 'readAgent',
  method: 'get',
  path: '/v1/agents/{id}',
  summary: 'Get an agent of yours, with its status',
  description: 'For the agent, by its token, and for its owner. For anyone else it returns 404.',
  permission: 'agents:read',
  audit: { action: 'read', ...agent },
  limit: 'read',
  status: 200,
  params: agentParams,
  output: z.strictObject({ data: LivingAgent }),
  refusals: ['not_found'],
})

export const setAgentStatus = operation({
  id: 'setAgentStatus',
  method: 'put',
  path: '/v1/agents/{id}/status',
  summary: 'Pause, resume or retire an agent',
  description:
    'While an agent is paused, nothing can be written for it (403 `paused`). Reading, deleting and exporting still work. If the agent has an owner, only the owner can resume it. `dead` retires the agent permanently and requires `confirm`, the agent’s id. From then on its tokens are rejected (403 `dead`), except to export its heartbeats for 24 hours. Its owner keeps all rights over its data.',
  permission: 'agents:self',
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  params: agentParams,
  body: z.strictObject({
    status: z.enum(agentStatuses),
    confirm: z.string().max(64).optional().meta({ description: 'For `dead`: the agent’s id, repeated' }),
  }),
  output: z.strictObject({ data: LivingAgent, message: z.string() }),
  refusals: ['not_found', 'wrong_state', 'forbidden', 'dead', 'paused'],
})

export const setAgentSettings = operation({
  id: 'setAgentSettings',
  method: 'patch',
  path: '/v1/agents/{id}/settings',
  summary: 'Change what an agent stores, and for how long',
  permission: 'agents:write',
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  params: agentParams,
  body: z.strictObject({
    grimoire_days: z.int().min(1, 'must be at least 1').max(3650, 'must be at most 3,650').nullable().meta({
      description: 'Days after which a grimoire entry is deleted; null: never',
    }),
  }),
  output: z.strictObject({ data: LivingAgent }),
  refusals: ['not_found', 'paused', 'dead', 'restricted', 'wrong_state', 'conflict'],
})
