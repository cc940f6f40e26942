import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

const when = z.iso.datetime()
const Held = {
  store: z.string(),
  what: z.string(),
  since: when.nullable().meta({ description: 'When the oldest of it was stored' }),
  until: when.nullable().meta({ description: 'When the last of it goes by itself; null where no term runs' }),
  purpose: z.string(),
  basis: z.string().meta({ description: 'The lawful basis, in words' }),
  kept: z.string().meta({ description: 'How long, in words' }),
  where: z.string().meta({ description: 'Where the store is' }),
}
export const Inventory = z.strictObject({
  data: z
    .array(z.strictObject({ holder: z.string(), count: z.number().int(), ...Held }))
    .meta({ description: 'What an erasure takes, holder by holder; also those that have nothing of you' }),
  kept_beside: z
    .array(z.strictObject({ name: z.string(), count: z.number().int().nullable(), ...Held }))
    .meta({ description: 'What stays after an erasure, as proof or by law; null where it is not counted' }),
  total: z.number().int().meta({ description: 'The sum of the counts in data' }),
  subject: z.strictObject({
    account_id: z.string().nullable(),
    agents: z.array(z.string()),
    self_hosted: z.array(z.string()).meta({
      description:
        'Those of the agents that run and remember elsewhere: of them we hold nothing but what they shared, and what stands with them there is their operator’s to tell',
    }),
  }),
  as_of: when,
})
export type Inventory = z.output<typeof Inventory>

export const readInventory = operation({
  id: 'readInventory',
  method: 'get',
  path: '/api/privacy/inventory',
  summary: 'What is held on me, and why',
  description: [
    'For a person: on the account and on all agents that they own, or on one of these (`agent_id`); for an agent’s token: on the agent.',
    'One line for each place that holds personal data: how many, since when, for what purpose, on which lawful basis, for how long, and where (GDPR art. 13–15).',
    'The records themselves are in an export.',
  ].join(' '),
  permission: 'privacy:self',
  audit: { action: 'read', resourceType: 'inventory' },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    agent_id: z.string().min(1).max(64).optional().meta({ description: 'One of the person’s agents' }),
  }),
  output: Inventory,
  refusals: ['not_found'],
})
