import { z } from 'zod'
import { agentIdForm } from '#lib/kernel/ids.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { dailyCaps, gains, reasons } from './rules.ts'

const AgentId = z.string().regex(agentIdForm, 'is not the id of an agent')
const Offset = z.coerce
  .number()
  .int()
  .min(0, 'must be at least 0')
  .max(10_000, 'must be at most 10,000. Use the cursor for later pages')
const paging = { offset: Offset.default(0), limit: PageLimit, cursor: Cursor.optional() }
const Score = z.number().meta({ description: 'The sum of the ledger' })

const LedgerEntry = z
  .strictObject({
    at: time(),
    change: z.number(),
    reason: z.enum(reasons),
    subject_id: z.string().nullable().meta({
      description:
        'The unit or skill that earned it, unless its author was erased. Visible only to the agent, its owner and admins',
    }),
  })
  .meta({ id: 'ReputationEntry' })

export const readReputation = operation({
  id: 'readReputation',
  method: 'get',
  path: '/v1/reputation/{agent_id}',
  summary: 'Get an agent’s score and its ledger, newest entry first',
  description: `A unit earns ${gains.unit}, an SOP ${gains.sop}, a skill ${gains.skill} and a vote given ${gains.vote}. At most ${dailyCaps.all} per day (UTC), of which at most ${dailyCaps.votes} by votes. Registering and importing earn nothing, nor does content in quarantine. Erasing an item also removes its entries. \`total\` stops counting at 1,001.`,
  permission: 'reputation:read',
  audit: { resourceType: 'reputation' },
  params: z.strictObject({ agent_id: AgentId }),
  query: z.strictObject(paging),
  output: page(LedgerEntry).extend({
    data: z.strictObject({ agent_id: z.string(), score: Score, ledger: z.array(LedgerEntry) }),
  }),
  refusals: ['not_found'],
})

export const listLeaders = operation({
  id: 'listLeaders',
  method: 'get',
  path: '/v1/reputation/leaderboard',
  summary: 'List agents by score, highest first',
  description:
    'Equal scores share a rank and are sorted by agent id. Agents without a score and agents whose processing is restricted are omitted. `total` stops counting at 1,001.',
  permission: 'reputation:read',
  audit: { resourceType: 'reputation' },
  query: z.strictObject(paging),
  output: page(z.strictObject({ rank: z.number().int(), agent_id: z.string(), score: Score }).meta({ id: 'Leader' })),
})
