import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { overlaps, tiers, tokenScopes, tokenScopesInOrder, tokenStates } from './rules.ts'

const Scopes = z
  .array(z.enum(tokenScopes))
  .min(1, 'names one scope at least')
  .max(tokenScopes.length, 'names each scope once')
  .transform(tokenScopesInOrder)
  .meta({
    description: '`read` retrieves and searches; `write` changes its own; `admin` is for admins to give, in a session',
  })
/** A display name: one line, no control characters. */
const TokenName = z
  .string()
  .trim()
  .min(1, 'has one character at least')
  .max(100, 'has 100 characters at most')
  .regex(/^\P{Cc}*$/u, 'holds a control character')
const AgentRef = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'holds a control character')
const when = z.iso.datetime()

const token = {
  id: z.string(),
  agent_id: z.string(),
  key_prefix: z.string().meta({ description: 'The first characters of the key, to recognise it by' }),
  name: z.string().nullable(),
  scopes: z.array(z.enum(tokenScopes)),
  created_at: when,
  expires_at: when.nullable(),
  issued_by_admin: z.boolean().meta({ description: 'An admin made it for an agent that is not their own' }),
  issued_by_token_id: z.string().nullable().meta({ description: 'The token that created it' }),
}
export const TokenView = z
  .strictObject({
    ...token,
    last_used_at: when.nullable().meta({ description: 'Exact to a few seconds' }),
    revoked_at: when.nullable(),
    revoked_reason: z.string().nullable(),
    state: z
      .enum(tokenStates)
      .meta({ description: '`rotated`: replaced by a new one, and good until `expires_at`, where the overlap ends' }),
  })
  .meta({ id: 'Token' })
export type TokenView = z.output<typeof TokenView>

export const ListedToken = TokenView.extend({
  refusals: z
    .array(
      z.strictObject({
        at: when,
        class: z.enum(['read', 'write']),
        limit: z.int().meta({ description: 'How many requests of its class a minute allowed' }),
        consumed: z.int().meta({ description: 'How many there were in that minute, this one included' }),
      }),
    )
    .meta({ description: 'The evidence of a revocation for `rate_limit`, oldest first; else empty' }),
}).meta({ id: 'ListedToken' })
export type ListedToken = z.output<typeof ListedToken>

const NewToken = z
  .strictObject({
    ...token,
    api_key: z
      .string()
      .optional()
      .meta({ description: 'Shown this once; it cannot be read again. Absent from a repetition by Idempotency-Key' }),
  })
  .meta({ id: 'NewToken' })
const issued = z.strictObject({ data: NewToken, message: z.string() })

const resource = { resourceType: 'token' }
const params = z.strictObject({
  id: z
    .string()
    .min(1)
    .max(64)
    .regex(/^\P{Cc}*$/u, 'holds a control character'),
})

export const readSelf = operation({
  id: 'readSelf',
  method: 'get',
  path: '/v1/auth/me',
  summary: 'Who you are here',
  description:
    'The agent behind the token, with its limits, this token and its consent. For a person, `account_id` alone is set.',
  permission: 'tokens:self',
  audit: { action: 'read', resourceType: 'agent' },
  limit: 'read',
  status: 200,
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
        tokens: z.number().int().meta({ description: 'How many tokens may be active at once' }),
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
          given_at: when.nullable(),
          via: z.string().nullable(),
          withdrawn_at: when.nullable(),
        })
        .nullable(),
      restricted_at: when.nullable(),
      owner_claimed: z.boolean(),
    }),
  }),
})

export const listTokens = operation({
  id: 'listTokens',
  method: 'get',
  path: '/v1/auth/tokens',
  summary: 'Tokens of your own, newest first',
  description:
    'An agent sees its own, a person those of the agents they own. `agent_id` chooses one agent; an admin may name any. `state` chooses those that stand so now. With a token that asked for too much come the requests beyond its limits that revoked it, for the 7 days that they are kept.',
  permission: 'tokens:self',
  audit: { action: 'read', ...resource },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    agent_id: AgentRef.optional(),
    state: z.enum(tokenStates).optional(),
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
    'The key is shown once. A token gives no scope that it lacks, never `admin`, and no longer life than its own; its revocation revokes what it created. A person gives `read` and `write`. The scope `admin` takes an admin’s session with a recently entered password, and ends after 90 days at most. The owner of an agent gets an email when an admin creates a token for it. Active tokens per agent: 5 (free), 20 (pro), 100 (enterprise); one created within the last minute counts even if it ended.',
  permission: 'tokens:self',
  audit: { action: 'create', ...resource },
  limit: 'write',
  status: 201,
  body: z
    .strictObject({
      agent_id: AgentRef.optional().meta({ description: 'For a person who owns several agents, and for admins' }),
      name: TokenName.optional(),
      scopes: Scopes.optional().meta({ description: '`["read"]` unless given' }),
      expires_at: Timestamp.optional(),
      expires_in_days: z.int().min(1, 'takes 1 at least').max(3650, 'takes 3650 at most').optional(),
    })
    .refine((body) => body.expires_at === undefined || body.expires_in_days === undefined, {
      path: ['expires_in_days'],
      message: 'Give expires_at or expires_in_days, not both',
    })
    .prefault({}),
  output: issued,
  secrets: ['api_key'],
  refusals: ['not_found', 'conflict', 'step_up_required'],
})

export const revokeToken = operation({
  id: 'revokeToken',
  method: 'delete',
  path: '/v1/auth/tokens/{id}',
  summary: 'Revoke a token',
  description:
    'It is refused from the next request on, everywhere, and so are tokens that were created with it, directly or through others (`revoked_reason` `issuer_revoked`). Revoking it again changes nothing.',
  permission: 'tokens:self',
  audit: { action: 'delete', ...resource },
  deletes: { none: 'a token holds no content' },
  limit: 'write',
  status: 204,
  params,
  output: z.undefined(),
  refusals: ['not_found'],
})

export const rotateToken = operation({
  id: 'rotateToken',
  method: 'post',
  path: '/v1/auth/tokens/{id}/rotate',
  summary: 'Replace a token by a new key',
  description:
    'The new token has the name, the scopes and the expiry of the old one, which works until the overlap ends: with `0s`, it ends now. Tokens that were created with it keep working and belong to the new one. After a leak, revoke instead. Both count in the same limits. A token is rotated once. It cannot rotate a token from which it descends. A successor that an admin’s token creates ends with that token.',
  permission: 'tokens:self',
  audit: { action: 'update', ...resource },
  limit: 'write',
  status: 201,
  params,
  body: z
    .strictObject({
      overlap: z
        .enum(Object.keys(overlaps) as (keyof typeof overlaps)[])
        .default('0s')
        .meta({ description: 'How long the old key still works' }),
    })
    .prefault({}),
  output: issued,
  secrets: ['api_key'],
  refusals: ['not_found', 'conflict', 'forbidden'],
})

export const KeyPrefix = z
  .string()
  .regex(/^kp_[0-9A-Za-z]{8}$/, 'takes the first 11 characters of a key, such as kp_3fK9aZ1q, and no more')

export const revokeByPrefix = operation({
  id: 'revokeByPrefix',
  method: 'post',
  path: '/v1/auth/revoke',
  summary: 'Revoke a token by the first characters of its key',
  description: 'For when a key was found somewhere and its id is not at hand.',
  permission: 'tokens:self',
  audit: { action: 'update', ...resource },
  limit: 'write',
  status: 200,
  body: z.strictObject({
    key_prefix: KeyPrefix,
  }),
  output: z.strictObject({
    data: z.strictObject({
      id: z.string(),
      key_prefix: z.string(),
      revoked: z.literal(true),
      revoked_at: when,
      revoked_descendants: z.int().meta({ description: 'Active tokens that were created with it' }),
    }),
    message: z.string(),
  }),
  refusals: ['not_found'],
})
