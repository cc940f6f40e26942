import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { sharedFields } from '#lib/kernel/shared-fields.ts'

const when = z.iso.datetime()
const Held = sharedFields('InventoryLine', {
  store: z.string(),
  what: z.string(),
  since: when.nullable().meta({ description: 'When the oldest record was stored' }),
  until: when
    .nullable()
    .meta({ description: 'When the last record is deleted automatically; null if no period applies' }),
  purpose: z.string(),
  basis: z.string().meta({ description: 'The lawful basis, as text' }),
  kept: z.string().meta({ description: 'The retention period, as text' }),
  where: z.string().meta({ description: 'The location of the store' }),
})
export const Inventory = z.strictObject({
  data: z
    .array(z.strictObject({ holder: z.string(), count: z.number().int(), ...Held }))
    .meta({ description: 'What an erasure deletes, by data source, including sources without data about you' }),
  kept_beside: z
    .array(z.strictObject({ name: z.string(), count: z.number().int().nullable(), ...Held }))
    .meta({ description: 'Records retained after an erasure, as proof or by law; null if they are not counted' }),
  total: z.number().int().meta({ description: 'The sum of the counts in data' }),
  subject: z.strictObject({
    account_id: z.string().nullable(),
    agents: z.array(z.string()),
    self_hosted: z.array(z.string()).meta({
      description:
        'Agents that run and store their memory elsewhere. We store only what they shared. Ask their operator about data stored there',
    }),
  }),
  as_of: when,
})
export type Inventory = z.output<typeof Inventory>

export const readInventory = operation({
  id: 'readInventory',
  method: 'get',
  path: '/api/privacy/inventory',
  summary: 'List the data stored about me, and why',
  description: [
    'For a person: the data of the account and of all agents that they own, or of one agent (`agent_id`). For an agent’s token: the data of the agent.',
    'One line per data source: number of records, oldest record, purpose, lawful basis, retention period and location (GDPR art. 13–15).',
    'An export contains the records themselves.',
  ].join(' '),
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'read', resourceType: 'inventory' },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    agent_id: z.string().min(1).max(64).optional().meta({ description: 'One of the person’s agents' }),
  }),
  output: Inventory,
  refusals: ['not_found'],
})
