import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { KeyPrefix, TokenView } from './contract.ts'
import { tiers } from './rules.ts'
import { usePeriodNames } from './usage-rules.ts'

const permission = 'tokens:admin'
const when = z.iso.datetime()
const count = z.number().int()
const AgentRef = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')

const use = {
  reads: count,
  writes: count,
  refused: count.meta({ description: 'Requests beyond the limit, answered with 429' }),
}
const Use = z.strictObject(use).meta({ id: 'TokenUse' })
const Limits = z.strictObject({ reads_per_minute: count, writes_per_minute: count })

const Owner = z
  .strictObject({ account_id: z.string(), name: z.string() })
  .nullable()
  .meta({ description: 'Null while no person has claimed the agent' })

const agent = {
  agent_id: z.string(),
  name: z.string().nullable(),
  tier: z.enum(tiers),
  limits: Limits.meta({ description: 'Limits in force, for each of its tokens separately' }),
  custom_limits: z
    .strictObject({ reads_per_minute: count.nullable(), writes_per_minute: count.nullable() })
    .nullable()
    .meta({ description: 'Values that an admin set instead of the tier’s; null: none' }),
  organisation: z.strictObject({ id: z.string(), name: z.string() }),
  owner_claimed: z.boolean(),
  owner: Owner,
  restricted_at: when.nullable(),
  suspended_at: when.nullable(),
  created_at: when,
  active_tokens: count,
}
const TieredAgent = z
  .strictObject({
    ...agent,
    use: z.strictObject({
      last_24h: Use,
      last_7d: Use,
      hours: z.array(count).length(24).meta({
        description: 'Admitted requests in each of the last 24 hours, oldest first, including the current hour',
      }),
    }),
  })
  .meta({ id: 'TieredAgent' })

export const listAgents = operation({
  id: 'listAgents',
  method: 'get',
  path: '/api/admin/agents',
  summary: 'List all agents with their tiers, limits and use, newest first',
  description:
    '`q` is part of the id, of the name, of the owner’s name or of a token’s name, or at least the first four characters of a token. Use is counted by the hour and written within about ten seconds; an agent’s is that of the tokens it still has. `total` stops counting at 1,001.',
  permission,
  audit: { action: 'read', resourceType: 'agent' },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    q: AgentRef.optional(),
    tier: z.enum(tiers).optional(),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(TieredAgent),
})

export const readAgentUse = operation({
  id: 'readAgentUse',
  method: 'get',
  path: '/api/admin/agents/{id}',
  summary: 'Get an agent with its tokens and their use over time',
  description: 'By hour for 24 hours or 7 days, by day (UTC) for 30 or 90 days. Lists the newest 100 tokens.',
  permission,
  audit: { action: 'read', resourceType: 'agent' },
  limit: 'read',
  status: 200,
  params: z.strictObject({ id: AgentRef }),
  query: z.strictObject({ period: z.enum(usePeriodNames).default('24h') }),
  output: z.strictObject({
    data: z.strictObject({
      ...agent,
      tokens: z.array(TokenView.extend({ use: Use.meta({ description: 'Within the period' }) })),
      tokens_total: count,
      tokens_allowed: count.meta({ description: 'How many can be active at the same time in its tier' }),
      use: z.strictObject({
        period: z.enum(usePeriodNames),
        step: z.enum(['hour', 'day']),
        total: Use,
        points: z.array(z.strictObject({ at: when, ...use })),
      }),
    }),
  }),
  refusals: ['not_found'],
})

export const findToken = operation({
  id: 'findToken',
  method: 'get',
  path: '/api/admin/tokens/match',
  summary: 'The token whose key begins with these characters',
  description: 'Shows which token a revocation by prefix ends, and which tokens it ends as well.',
  permission,
  audit: { action: 'read', resourceType: 'token' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ key_prefix: KeyPrefix }),
  output: z.strictObject({
    data: TokenView.extend({
      agent: z.strictObject({ name: z.string().nullable(), owner: Owner }),
      active_descendants: count.meta({ description: 'Active tokens that were created with it and end with it' }),
      active_successor: z.string().nullable().meta({
        description:
          'The key prefix of the newest active token that it was rotated to. A revocation does not end that one',
      }),
    }),
  }),
  refusals: ['not_found'],
})

export const summariseTokens = operation({
  id: 'summariseTokens',
  method: 'get',
  path: '/api/admin/tokens',
  summary: 'Get the number of agents and tokens, and their use',
  permission,
  audit: { action: 'read', resourceType: 'token' },
  limit: 'read',
  status: 200,
  output: z.strictObject({
    data: z.strictObject({
      agents: count,
      active_tokens: count,
      agents_with_tokens: count.meta({ description: 'Agents with an active token' }),
      auto_revoked_7d: count.meta({ description: 'Tokens revoked for exceeding rate limits within the last 7 days' }),
      use_24h: Use,
    }),
  }),
})

export const listRevocations = operation({
  id: 'listRevocations',
  method: 'get',
  path: '/api/admin/revocations',
  summary: 'List tokens revoked for exceeding rate limits, newest first, with the evidence',
  description:
    'The evidence is the rejected requests in the hour before the revocation, by the token and by tokens that share its limits through rotation. It is kept for 7 days; the audit log keeps the revocation for 90 days.',
  permission,
  audit: { action: 'read', resourceType: 'token' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ agent_id: AgentRef.optional(), cursor: Cursor.optional(), limit: PageLimit }),
  output: page(
    z.strictObject({
      token_id: z.string(),
      key_prefix: z.string(),
      agent_id: z.string(),
      revoked_at: when,
      evidence: z.array(
        z.strictObject({
          at: when,
          token_id: z.string(),
          class: z.enum(['read', 'write']),
          limit: count.meta({ description: 'Requests of this class allowed per minute' }),
          consumed: count.meta({ description: 'Requests in that minute, including rejected ones' }),
          ip: z.string(),
        }),
      ),
      evidence_until: when.meta({ description: 'When the last piece of evidence is deleted' }),
    }),
  ),
})
