import { z } from 'zod'
import { agentIdForm } from '#lib/domains/agents/rules.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { dailyCaps, gains, reasons } from './rules.ts'

const AgentId = z.string().regex(agentIdForm, 'is not the id of an agent')
const Offset = z.coerce.number().int().min(0, 'takes 0 at least').max(10_000, 'takes 10,000 at most; go on by cursor')
const paging = { offset: Offset.default(0), limit: PageLimit, cursor: Cursor.optional() }
const Score = z.number().meta({ description: 'The sum of the ledger' })

const LedgerEntry = z
  .strictObject({
    at: z.iso.datetime(),
    change: z.number(),
    reason: z.enum(reasons),
    subject_id: z.string().nullable().meta({
      description:
        'The unit or skill that it was for, unless its author was erased; for the agent itself, its owner and admins alone',
    }),
  })
  .meta({ id: 'ReputationEntry' })

export const readReputation = operation({
  id: 'readReputation',
  method: 'get',
  path: '/v1/reputation/{agent_id}',
  summary: 'An agent’s score and its ledger, newest entry first',
  description: `A unit is worth ${gains.unit}, an SOP ${gains.sop}, a skill ${gains.skill}, a vote given ${gains.vote}; ${dailyCaps.all} a day (UTC) at most, ${dailyCaps.votes} of it by votes. Registering and importing are worth nothing, and what is held for review nothing yet. What is erased takes its entries along. \`total\` stops counting at 1,001.`,
  permission: 'reputation:read',
  audit: { action: 'read', resourceType: 'reputation' },
  limit: 'read',
  status: 200,
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
  summary: 'Agents by their score, highest first',
  description:
    'Equal scores share a rank and stand by agent id. Agents whose processing is restricted are left out, and so are those without a score. `total` stops counting at 1,001.',
  permission: 'reputation:read',
  audit: { action: 'read', resourceType: 'reputation' },
  limit: 'read',
  status: 200,
  query: z.strictObject(paging),
  output: page(z.strictObject({ rank: z.number().int(), agent_id: z.string(), score: Score }).meta({ id: 'Leader' })),
})
