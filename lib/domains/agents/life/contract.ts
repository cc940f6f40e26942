import { z } from 'zod'
import { tiers } from '#lib/domains/tokens/rules.ts'
import { DataRegion } from '#lib/kernel/data-regions.ts'
import { operation } from '#lib/kernel/operation.ts'
import { agentStatuses } from './rules.ts'

const when = z.iso.datetime()
const agent = { resourceType: 'agent' } as const
/** An agent's id in a path; also accepts ids that earlier versions allowed. */
export const AgentParam = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'holds a control character')
export const agentParams = z.strictObject({ id: AgentParam })

/** Fixed properties and settings of an agent. */
export const lifeFields = {
  status: z.enum(agentStatuses).meta({
    description:
      'Set by its owner. `paused`: it reads, and writes nothing. `dead`: its heartbeats can be exported for 24 hours, and nothing else. A restriction by law is in `restricted_at`.',
  }),
  status_at: when.nullable().meta({ description: 'Since when it is that; null since it was made' }),
  died_at: when.nullable(),
  region: z.string().nullable().meta({ description: 'Fixed at creation; null: anywhere' }),
  self_hosted: z.boolean().meta({
    description: 'It runs and remembers elsewhere: nothing is held here but what it shared, and nothing else is taken',
  }),
  automatic_snapshots: z.boolean().meta({
    description:
      'Whether a snapshot is made every six hours: an agent without a keyring has none, because nobody could open it',
  }),
}
/** Properties that are set at creation and never change. */
export const birthFields = {
  region: DataRegion.optional().meta({
    description:
      'Where all that it leaves here stays. Refused (`outside_region`) where a store or a service of this installation is elsewhere.',
  }),
  self_hosted: z.boolean().optional().meta({
    description:
      'It runs and remembers elsewhere; here is only what it shares. What would keep something else of it here, documents, heartbeats, notes of chains, a keyring, entries, a state or logged exchanges, is refused (`conflict`).',
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
      .meta({ description: 'Entries of its grimoire go so many days after they were written; null: they stay' }),
    sharing_since: when.nullable().meta({ description: 'Since when entries may go to its siblings; null: off' }),
    created_at: when,
  })
  .meta({ id: 'LivingAgent' })
export type LivingAgent = z.output<typeof LivingAgent>

export const readAgent = operation({
  id: 'readAgent',
  method: 'get',
  path: '/v1/agents/{id}',
  summary: 'An agent of yours, and how it lives',
  description: 'For the agent by its token, and for whoever owns it. Another’s looks like none: 404.',
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
  summary: 'Pause an agent, let it go on, or end it',
  description:
    'While it is paused nothing is written for it (403 `paused`); reading, deleting and exporting go on. Where somebody owns it, they alone let it go on. `dead` is for good and needs `confirm`, the agent’s id: from then on its tokens do nothing (403 `dead`) but export its heartbeats, for 24 hours; its owner keeps every right over what it left. Repeating a status changes nothing.',
  permission: 'agents:self',
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  params: agentParams,
  body: z.strictObject({
    status: z.enum(agentStatuses),
    confirm: z.string().max(64).optional().meta({ description: 'For `dead`: the agent’s id once more' }),
  }),
  output: z.strictObject({ data: LivingAgent, message: z.string() }),
  refusals: ['not_found', 'wrong_state', 'forbidden', 'dead', 'paused'],
})

export const setAgentSettings = operation({
  id: 'setAgentSettings',
  method: 'patch',
  path: '/v1/agents/{id}/settings',
  summary: 'Change what an agent keeps, and how long',
  permission: 'agents:write',
  audit: { action: 'update', ...agent },
  limit: 'write',
  status: 200,
  params: agentParams,
  body: z.strictObject({
    grimoire_days: z.int().min(1, 'takes 1 at least').max(3650, 'takes 3,650 at most').nullable().meta({
      description: 'Entries of its grimoire go so many days after they were written; null: they stay',
    }),
  }),
  output: z.strictObject({ data: LivingAgent }),
  refusals: ['not_found', 'paused', 'dead', 'restricted', 'wrong_state', 'conflict'],
})
