import { z } from 'zod'
import { operation, sharedFields, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { overlaps, tiers, tokenScopes, tokenScopesInOrder, tokenStates, usePeriodNames } from './rules.ts'

const Scopes = z
  .array(z.enum(tokenScopes))
  .min(1, 'must name at least one scope')
  .max(tokenScopes.length, 'must name each scope once')
  .transform(tokenScopesInOrder)
  .meta({
    description:
      '`read` retrieves and searches; `write` changes the agent’s own data; only an admin can grant `admin`, in a session',
  })
/** A display name: one line, no control characters. */
const TokenName = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(100, 'must have at most 100 characters')
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
const AgentRef = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
const token = sharedFields('IssuedToken', {
  id: z.string(),
  agent_id: z.string(),
  key_prefix: z.string().meta({ description: 'The first characters of the key, to recognize it' }),
  name: z.string().nullable(),
  scopes: z.array(z.enum(tokenScopes)),
  created_at: time(),
  expires_at: time().nullable(),
  issued_by_admin: z.boolean().meta({ description: 'An admin created it for an agent that is not their own' }),
  issued_by_token_id: z.string().nullable().meta({ description: 'The token that created it' }),
})
const TokenView = z
  .strictObject({
    ...token,
    last_used_at: time().nullable().meta({ description: 'Accurate to a few seconds' }),
    revoked_at: time().nullable(),
    revoked_reason: z.string().nullable(),
    state: z.enum(tokenStates).meta({
      id: 'TokenState',
      description: '`rotated`: replaced by a new token, but valid until `expires_at`, when the overlap ends',
    }),
  })
  .meta({ id: 'Token' })

export const ListedToken = TokenView.extend({
  is_suspended: z.boolean().meta({
    description: 'Refused except for `/api/privacy`: an erasure suspends its agent',
  }),
  refusals: z
    .array(
      z.strictObject({
        at: time(),
        class: z.enum(['read', 'write']),
        limit: z.int().meta({ description: 'Allowed requests of its class per minute' }),
        consumed: z.int().meta({ description: 'Requests in that minute, including this one' }),
      }),
    )
    .meta({ description: 'For a revocation because of `rate_limit`: the evidence, oldest first; otherwise empty' }),
}).meta({ id: 'ListedToken' })
export type ListedToken = z.output<typeof ListedToken>

const NewToken = z
  .strictObject({
    ...token,
    api_key: z
      .string()
      .optional()
      .meta({ description: 'Shown only once. Absent from a repetition by Idempotency-Key' }),
  })
  .meta({ id: 'NewToken' })
const issued = z.strictObject({ data: NewToken, message: z.string() })

const resource = { resourceType: 'token' }
const params = z.strictObject({
  id: z
    .string()
    .min(1)
    .max(64)
    .regex(/^\P{Cc}*$/u, 'must not contain control characters'),
})

export const readSelf = operation({
  id: 'readSelf',
  method: 'get',
  path: '/v1/auth/me',
  summary: 'Get the current identity',
  description:
    'The agent of the token, with its limits, this token and its consent. For a person, only `account_id` is set.',
  permission: 'tokens:self',
  audit: { resourceType: 'agent' },
  output: z.strictObject({
    data: z.strictObject({
      agent_id: z.string().nullable(),
      account_id: z.string().nullable(),
      name: z.string().nullable(),
      tier: z.enum(tiers).nullable(),
      scopes: z.array(z.enum(tokenScopes)),
      organisation_id: z.string().nullable(),
      limits: z.strictObject({
        reads_per_minute: z.number().int(),
        writes_per_minute: z.number().int(),
        batch: z.number().int(),
        unit_bytes: z.number().int(),
        exports_per_day: z.number().int().nullable().meta({ description: 'null: no limit' }),
        tokens: z.number().int().meta({ description: 'How many tokens can be active at the same time' }),
      }),
      token: TokenView.pick({
        id: true,
        key_prefix: true,
        name: true,
        created_at: true,
        expires_at: true,
        issued_by_admin: true,
        issued_by_token_id: true,
        last_used_at: true,
      }).nullable(),
      consent: z
        .strictObject({
          lawful_basis: z.string(),
          policy_version: z.string(),
          given_at: time().nullable(),
          via: z.string().nullable(),
          withdrawn_at: time().nullable(),
        })
        .nullable(),
      restricted_at: time().nullable(),
      owner_claimed: z.boolean(),
    }),
  }),
})

export const listTokens = operation({
  id: 'listTokens',
  method: 'get',
  path: '/v1/auth/tokens',
  summary: 'List your tokens, newest first',
  description:
    'An agent sees its own tokens, a person those of the agents they own. `agent_id` selects one agent; admins can name any. `state` selects a state. For a token revoked for exceeded rate limits, the response includes the rejected requests, kept for 7 days.',
  permission: 'tokens:self',
  audit: resource,
  query: z.strictObject({
    agent_id: AgentRef.optional(),
    state: z.enum(tokenStates).optional(),
    q: z
      .string()
      .trim()
      .min(1)
      .max(64)
      .optional()
      .meta({ description: 'A part of the name, or at least the first four characters of the token' }),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(ListedToken),
  refusals: ['not_found'],
})

export const createToken = operation({
  id: 'createToken',
  method: 'post',
  path: '/v1/auth/tokens',
  summary: 'Create a token',
  description:
    'The key is shown once. A token cannot grant a scope that it lacks, or `admin`, or a longer lifetime than its own. Revoking it also revokes tokens that it created. A person can grant `read` and `write`. The scope `admin` requires an admin’s session with a recently entered password, and expires after at most 90 days. The owner of an agent gets an email when an admin creates a token for it. Active tokens per agent: 5 (free), 20 (pro), 100 (enterprise).',
  permission: 'tokens:self',
  audit: resource,
  body: z
    .strictObject({
      agent_id: AgentRef.optional().meta({ description: 'For a person who owns several agents, and for admins' }),
      name: TokenName.optional(),
      scopes: Scopes.optional().meta({ description: '`["read"]` if omitted' }),
      expires_at: Timestamp.optional(),
      expires_in_days: z.int().min(1, 'must be at least 1').max(3650, 'must be at most 3650').optional(),
    })
    .refine((body) => body.expires_at === undefined || body.expires_in_days === undefined, {
      path: ['expires_in_days'],
      message: 'Give expires_at or expires_in_days, not both',
    })
    .prefault({}),
  output: issued,
  secrets: ['api_key'],
  refusals: ['approval_required', 'conflict', 'not_found', 'step_up_required'],
})

export const revokeToken = operation({
  id: 'revokeToken',
  method: 'delete',
  path: '/v1/auth/tokens/{id}',
  summary: 'Revoke a token',
  description:
    'The token is rejected everywhere from the next request on, and so are tokens created with it, directly or through others (`revoked_reason` `issuer_revoked`). Revoking it again changes nothing.',
  permission: 'tokens:self',
  audit: resource,
  deletes: { none: 'a token holds no content' },
  params,
  output: z.undefined(),
  refusals: ['not_found'],
})

export const rotateToken = operation({
  id: 'rotateToken',
  method: 'post',
  path: '/v1/auth/tokens/{id}/rotate',
  summary: 'Replace a token with a new key',
  description:
    'The new token has the name, scopes and expiry of the old one. The old token works until the overlap ends: with `0s`, it ends now. Tokens that were created with it keep working and belong to the new one. After a leak, revoke it instead. A token can be rotated only once. It cannot rotate a token from which it descends. A successor that an admin’s token creates ends with that token.',
  permission: 'tokens:self',
  audit: { action: 'update', ...resource },
  status: 201,
  params,
  body: z
    .strictObject({
      overlap: z
        .enum(Object.keys(overlaps) as (keyof typeof overlaps)[])
        .default('0s')
        .meta({ description: 'How long the old key keeps working' }),
    })
    .prefault({}),
  output: issued,
  secrets: ['api_key'],
  refusals: ['approval_required', 'conflict', 'forbidden', 'not_found'],
})

const KeyPrefix = z
  .string()
  .regex(/^kp_[0-9A-Za-z]{8}$/, 'must be exactly the first 11 characters of a token, such as kp_3fK9aZ1q')

export const revokeByPrefix = operation({
  id: 'revokeByPrefix',
  method: 'post',
  path: '/v1/auth/revoke',
  summary: 'Revoke a token by the first characters of its key',
  description: 'For a leaked key whose token id is not known.',
  permission: 'tokens:self',
  audit: { action: 'update', ...resource },
  body: z.strictObject({
    key_prefix: KeyPrefix,
  }),
  output: z.strictObject({
    data: z.strictObject({
      id: z.string(),
      key_prefix: z.string(),
      revoked: z.literal(true),
      revoked_at: time(),
      revoked_descendants: z.int().meta({ description: 'Active tokens that were created with it' }),
    }),
    message: z.string(),
  }),
  refusals: ['not_found'],
})

const permission = 'tokens:admin'
const count = z.number().int()

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
  restricted_at: time().nullable(),
  suspended_at: time().nullable(),
  created_at: time(),
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
  audit: { resourceType: 'agent' },
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
  audit: { resourceType: 'agent' },
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
        points: z.array(z.strictObject({ at: time(), ...use })),
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
  audit: { resourceType: 'token' },
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
  audit: { resourceType: 'token' },
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
  audit: { resourceType: 'token' },
  query: z.strictObject({ agent_id: AgentRef.optional(), cursor: Cursor.optional(), limit: PageLimit }),
  output: page(
    z.strictObject({
      token_id: z.string(),
      key_prefix: z.string(),
      agent_id: z.string(),
      revoked_at: time(),
      evidence: z.array(
        z.strictObject({
          at: time(),
          token_id: z.string(),
          class: z.enum(['read', 'write']),
          limit: count.meta({ description: 'Requests of this class allowed per minute' }),
          consumed: count.meta({ description: 'Requests in that minute, including rejected ones' }),
          ip: z.string(),
        }),
      ),
      evidence_until: time({ description: 'When the last piece of evidence is deleted' }),
    }),
  ),
})
