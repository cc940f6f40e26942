import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { cladeEntryIdForm, deltaStates, mostOrigins, sharedKinds, shareIdForm } from './rules.ts'
import { strippedKinds } from './strip-kinds.ts'

const when = z.iso.datetime()
const AgentParam = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'holds a control character')
export const cladeAgentParams = z.strictObject({ id: AgentParam })
const ShareId = z.string().regex(shareIdForm, 'is no id of a share: `shr_` and 22 letters or digits')
const ofShare = z.strictObject({ id: AgentParam, shareId: ShareId })
const Json = z.json()

const EntryBody = z
  .strictObject({
    kind: z.enum(sharedKinds, { error: `takes ${sharedKinds.join(', ')}; an episode is never shared` }),
    content: Json,
    confidence: z.number().min(0).max(1),
    tags: z.array(z.string().min(1).max(64)).max(32, 'has 32 at most').default([]),
    provenance: Json.default(null),
    parents: z.array(z.string().min(1).max(200)).max(100, 'has 100 at most').default([]),
    valid_from: Timestamp.optional(),
    valid_until: Timestamp.optional(),
  })
  .meta({ description: 'An entry that is private here: its owner’s client opened and stripped it' })
const what = {
  entry_id: z.string().regex(cladeEntryIdForm, 'is no id of an entry: `ent_` and 22 letters or digits').optional(),
  entry: EntryBody.optional(),
  removed: z
    .partialRecord(z.enum(strippedKinds), z.int().min(1).max(1_000_000))
    .optional()
    .meta({ description: 'With `entry`: what the owner’s client took out of it, which the manifest counts, too' }),
  origins: z.array(ShareId).max(mostOrigins, `has ${mostOrigins} at most`).optional().meta({
    description:
      'Shares of siblings that it was made from by way of private entries, which the owner’s client alone can read. Needed, if empty, where it was made from one',
  }),
}
export type EntryBody = z.output<typeof EntryBody>

export const CladePayload = z
  .strictObject({
    kind: z.enum(sharedKinds),
    content: Json,
    confidence: z.number(),
    tags: z.array(z.string()),
    provenance: Json,
    parents: z.array(z.string()),
    valid_from: when.nullable(),
    valid_until: when.nullable(),
  })
  .meta({ id: 'CladePayload', description: 'What leaves: the entry without what was taken out' })

const Removed = z.partialRecord(z.enum(strippedKinds), z.int()).meta({
  description: 'How much of which kind was taken out; never what',
})
const Degraded = z
  .array(z.literal('presidio'))
  .optional()
  .meta({ description: 'Not asked successfully: names and postal addresses of people may stand in it' })
export const CladeDigest = z.string().meta({ description: 'SHA-256 of the payload (RFC 8785), base64url' })

export const ShareView = z
  .strictObject({
    share_id: z.string(),
    agent_id: z.string(),
    entry_id: z.string().nullable(),
    kind: z.enum(sharedKinds),
    digest: CladeDigest,
    manifest: z.string().meta({
      description: 'Compact JWS by the installation’s key: kinds and counts of what was taken out, and the digest',
    }),
    shared_at: when,
    recalled_at: when.nullable(),
    siblings: z.array(
      z.strictObject({
        agent_id: z.string(),
        state: z.enum(deltaStates),
        delivered_at: when.nullable(),
        acknowledged_at: when.nullable(),
      }),
    ),
  })
  .meta({ id: 'CladeShare' })
export type ShareView = z.output<typeof ShareView>

const share = { resourceType: 'clade_share' }
const writing = [
  'not_found',
  'paused',
  'dead',
  'restricted',
  'wrong_state',
  'conflict',
  'fenced',
  'outside_region',
] as const
const bodyLimit = 256 * 1024

const CladeView = z.strictObject({
  agent_id: z.string(),
  clade_id: z.string().nullable(),
  sharing_since: when.nullable(),
  siblings: z.array(
    z.strictObject({
      agent_id: z.string(),
      name: z.string().nullable(),
      status: z.enum(['active', 'paused']),
      pending: z.int().meta({ description: 'Shares of this agent’s that it has not fetched' }),
    }),
  ),
  pending: z.int().meta({ description: 'Shares and recalls that wait for this agent' }),
})

export const readClade = operation({
  id: 'readClade',
  method: 'get',
  path: '/v1/agents/{id}/clade',
  summary: 'An agent’s siblings, and whether it shares with them',
  description: 'Siblings have one ancestor and one owner, and live. For the agent and its owner.',
  permission: 'clades:read',
  audit: { action: 'read', resourceType: 'agent' },
  limit: 'read',
  status: 200,
  params: cladeAgentParams,
  output: z.strictObject({ data: CladeView }),
  refusals: ['not_found'],
})

export const setSharing = operation({
  id: 'setCladeSharing',
  method: 'put',
  path: '/v1/agents/{id}/clade/sharing',
  summary: 'Switch sharing with siblings on or off; it is off until somebody switches it on',
  description:
    'Off: nothing more is sent, and what no sibling has fetched is withdrawn, also of a paused agent. What a sibling has stays until it is recalled.',
  permission: 'clades:write',
  audit: { action: 'update', resourceType: 'agent' },
  limit: 'write',
  status: 200,
  params: cladeAgentParams,
  body: z.strictObject({ on: z.boolean() }),
  output: z.strictObject({
    data: z.strictObject({ agent_id: z.string(), sharing_since: when.nullable(), withdrawn: z.int() }),
  }),
  refusals: writing,
})

export const previewShare = operation({
  id: 'previewCladeShare',
  method: 'post',
  path: '/v1/agents/{id}/clade/preview',
  summary: 'Exactly what a share would send; nothing is stored',
  description:
    'Addresses of wallets, exact sizes and prices of trades, keys, credentials, seed phrases and what names people are taken out, by their form and by the names of fields; other names and places where a Presidio analyzer is connected (`degraded` where it did not answer). Send `digest` along with the share: where it would send something else, it is refused.',
  permission: 'clades:read',
  audit: { action: 'read', ...share },
  limit: 'read',
  status: 200,
  params: cladeAgentParams,
  bodyLimit,
  body: z.strictObject(what),
  contributed: true,
  output: z.strictObject({
    data: z.strictObject({
      payload: CladePayload,
      removed: Removed,
      digest: CladeDigest,
      gate: z.strictObject({ passes: z.boolean(), confidence: z.number(), needed: z.number() }),
      degraded: Degraded,
    }),
  }),
  refusals: ['not_found', 'conflict', 'too_large'],
})

export const addShare = operation({
  id: 'addCladeShare',
  method: 'post',
  path: '/v1/agents/{id}/clade/shares',
  summary: 'Share an entry with siblings, stripped',
  description:
    'By `entry_id` one that the installation reads; a private one as `entry`, which the owner’s client opened and stripped: it is stripped once more. Confidence needed: insight 0.6, heuristic 0.7, warning 0.4, causal link 0.5. A sibling that fetches nothing for 7 days does not get it.',
  permission: 'clades:write',
  audit: { action: 'create', ...share },
  limit: 'write',
  status: 201,
  params: cladeAgentParams,
  bodyLimit,
  body: z.strictObject({
    ...what,
    siblings: z
      .array(AgentParam)
      .min(1)
      .max(100, 'takes 100 at most')
      .optional()
      .meta({ description: 'All unless told' }),
    digest: z.string().max(64).optional().meta({ description: 'Of the preview' }),
  }),
  output: z.strictObject({
    data: z.strictObject({
      share_id: z.string(),
      removed: Removed,
      digest: CladeDigest,
      manifest: z.string(),
      sent_to: z.array(z.string()),
      shared_at: when,
      degraded: Degraded,
    }),
  }),
  refusals: [...writing, 'too_large'],
})

export const listShares = operation({
  id: 'listCladeShares',
  method: 'get',
  path: '/v1/agents/{id}/clade/shares',
  summary: 'What an agent shared, newest first, and what became of it',
  permission: 'clades:read',
  audit: { action: 'read', ...share },
  limit: 'read',
  status: 200,
  params: cladeAgentParams,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(ShareView),
  refusals: ['not_found'],
})

export const readShare = operation({
  id: 'readCladeShare',
  method: 'get',
  path: '/v1/agents/{id}/clade/shares/{shareId}',
  summary: 'A share, and who has it or acknowledged its recall',
  permission: 'clades:read',
  audit: { action: 'read', ...share },
  limit: 'read',
  status: 200,
  params: ofShare,
  output: z.strictObject({ data: ShareView }),
  refusals: ['not_found'],
})

export const recallShare = operation({
  id: 'recallCladeShare',
  method: 'delete',
  path: '/v1/agents/{id}/clade/shares/{shareId}',
  summary: 'Recall a share from every sibling, with what was made of it',
  description:
    'What it held is destroyed at once, or, while a legal hold keeps our sealed copy, when that ends. Siblings that never fetched it get nothing; those that did are told to remove it, and it can be read here who acknowledged. Shares that were made from it are recalled too.',
  permission: 'clades:write',
  audit: { action: 'delete', ...share },
  deletes: { counts: 'sharesRecalled' },
  limit: 'write',
  status: 200,
  params: ofShare,
  output: z.strictObject({
    data: z.strictObject({
      share_id: z.string(),
      recalled: z.array(z.string()).meta({ description: 'It, and shares that were made from it' }),
      withdrawn: z.int().meta({ description: 'Never fetched' }),
      to_acknowledge: z.int().meta({ description: 'Siblings that are told to remove it' }),
    }),
  }),
  refusals: ['not_found', 'fenced'],
})
