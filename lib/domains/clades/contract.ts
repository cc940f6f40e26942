import { z } from 'zod'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { cladeEntryIdForm, deltaStates, maxOrigins, sharedKinds, shareIdForm } from './rules.ts'
import { strippedKinds } from './strip-rules.ts'

const AgentParam = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
const cladeAgentParams = z.strictObject({ id: AgentParam })
const ShareId = z.string().regex(shareIdForm, 'must be the id of a share: `shr_` and 22 letters or digits')
const ofShare = z.strictObject({ id: AgentParam, shareId: ShareId })
const Json = z.json()

const EntryBody = z
  .strictObject({
    kind: z.enum(sharedKinds, { error: `must be one of ${sharedKinds.join(', ')}. Episodes are never shared` }),
    content: Json,
    confidence: z.number().min(0).max(1),
    tags: z.array(z.string().min(1).max(64)).max(32, 'must have at most 32 items').default([]),
    provenance: Json.default(null),
    parents: z.array(z.string().min(1).max(200)).max(100, 'must have at most 100 items').default([]),
    valid_from: Timestamp.optional(),
    valid_until: Timestamp.optional(),
  })
  .meta({
    id: 'PrivateCladeEntry',
    description: 'An entry that is private here. Its owner’s client opened and redacted it',
  })
const what = {
  entry_id: z
    .string()
    .regex(cladeEntryIdForm, 'must be the id of an entry: `ent_` and 22 letters or digits')
    .optional(),
  entry: EntryBody.optional(),
  removed: z
    .partialRecord(z.enum(strippedKinds), z.int().min(1).max(1_000_000))
    .meta({
      id: 'RemovedParts',
      description: 'With `entry`: what the owner’s client removed. The manifest includes these counts',
    })
    .optional(),
  origins: z.array(ShareId).max(maxOrigins, `must have at most ${maxOrigins} items`).optional().meta({
    description:
      'Shares of siblings from which the entry was derived by way of private entries, which only the owner’s client can read. Required for such an entry, even if the list is empty',
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
    valid_from: time().nullable(),
    valid_until: time().nullable(),
  })
  .meta({ id: 'CladePayload', description: 'The payload to be sent: the entry without the removed parts' })

const Removed = z.partialRecord(z.enum(strippedKinds), z.int()).meta({
  id: 'RemovedCounts',
  description: 'Number of removed parts by kind; never their content',
})
const Degraded = z
  .array(z.literal('presidio'))
  .optional()
  .meta({ description: 'Detectors that did not answer: the text may contain names and postal addresses of people' })
const CladeDigest = z.string().meta({ description: 'SHA-256 of the payload (RFC 8785), base64url' })

export const ShareView = z
  .strictObject({
    share_id: z.string(),
    agent_id: z.string(),
    entry_id: z.string().nullable(),
    kind: z.enum(sharedKinds),
    digest: CladeDigest,
    manifest: z.string().meta({
      description: 'Compact JWS by the installation’s key: kinds and counts of the removed parts, and the digest',
    }),
    shared_at: time(),
    recalled_at: time().nullable(),
    siblings: z.array(
      z.strictObject({
        agent_id: z.string(),
        state: z.enum(deltaStates),
        delivered_at: time().nullable(),
        acknowledged_at: time().nullable(),
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
  sharing_since: time().nullable(),
  siblings: z.array(
    z.strictObject({
      agent_id: z.string(),
      name: z.string().nullable(),
      status: z.enum(['active', 'paused']),
      pending: z.int().meta({ description: 'Shares by this agent that the sibling has not fetched' }),
    }),
  ),
  pending: z.int().meta({ description: 'Shares and recalls that this agent has not fetched' }),
})

export const readClade = operation({
  id: 'readClade',
  method: 'get',
  path: '/v1/agents/{id}/clade',
  summary: 'List an agent’s siblings, and whether it shares with them',
  description: 'Siblings have the same ancestor and the same owner, and are not retired. For the agent and its owner.',
  permission: 'clades:read',
  audit: { resourceType: 'agent' },
  params: cladeAgentParams,
  output: z.strictObject({ data: CladeView }),
  refusals: ['not_found'],
})

export const setSharing = operation({
  id: 'setCladeSharing',
  method: 'put',
  path: '/v1/agents/{id}/clade/sharing',
  summary: 'Switch sharing with siblings on or off (default: off)',
  description:
    'When off, nothing more is sent, and shares that no sibling has fetched are withdrawn, including shares of a paused agent. Siblings keep what they fetched until it is recalled.',
  permission: 'clades:write',
  audit: { resourceType: 'agent' },
  params: cladeAgentParams,
  body: z.strictObject({ on: z.boolean() }),
  output: z.strictObject({
    data: z.strictObject({ agent_id: z.string(), sharing_since: time().nullable(), withdrawn: z.int() }),
  }),
  refusals: writing,
})

export const previewShare = operation({
  id: 'previewCladeShare',
  method: 'post',
  path: '/v1/agents/{id}/clade/preview',
  summary: 'Preview exactly what a share would send; nothing is stored',
  description:
    'Removes wallet addresses, exact sizes and prices of trades, keys, credentials, seed phrases and identifiers of people, by their form and by field names. Other names and places are removed if a Presidio analyzer is connected (`degraded` if it did not answer). Send `digest` with the share: if the share would send something else, it is rejected.',
  permission: 'clades:read',
  audit: { action: 'read', ...share },
  limit: 'read',
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
  summary: 'Share a redacted entry with siblings',
  description:
    'Use `entry_id` for an entry that the installation can read. Send a private entry as `entry`, opened and redacted by the owner’s client; it is redacted again here. Minimum confidence: insight 0.6, heuristic 0.7, warning 0.4, causal link 0.5. A sibling that does not fetch for 7 days does not get the entry.',
  permission: 'clades:write',
  audit: share,
  params: cladeAgentParams,
  bodyLimit,
  body: z.strictObject({
    ...what,
    siblings: z
      .array(AgentParam)
      .min(1)
      .max(100, 'must have at most 100 items')
      .optional()
      .meta({ description: 'If omitted, all siblings' }),
    digest: z.string().max(64).optional().meta({ description: 'The `digest` from the preview' }),
  }),
  output: z.strictObject({
    data: z.strictObject({
      share_id: z.string(),
      removed: Removed,
      digest: CladeDigest,
      manifest: z.string(),
      sent_to: z.array(z.string()),
      shared_at: time(),
      degraded: Degraded,
    }),
  }),
  refusals: [...writing, 'too_large'],
})

export const listShares = operation({
  id: 'listCladeShares',
  method: 'get',
  path: '/v1/agents/{id}/clade/shares',
  summary: 'List what an agent shared, newest first, with the status of each share',
  permission: 'clades:read',
  audit: share,
  params: cladeAgentParams,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(ShareView),
  refusals: ['not_found'],
})

export const readShare = operation({
  id: 'readCladeShare',
  method: 'get',
  path: '/v1/agents/{id}/clade/shares/{shareId}',
  summary: 'Get a share, with the siblings that fetched it or acknowledged its recall',
  permission: 'clades:read',
  audit: share,
  params: ofShare,
  output: z.strictObject({ data: ShareView }),
  refusals: ['not_found'],
})

export const recallShare = operation({
  id: 'recallCladeShare',
  method: 'delete',
  path: '/v1/agents/{id}/clade/shares/{shareId}',
  summary: 'Recall a share from all siblings, with everything derived from it',
  description:
    'Its content is destroyed immediately, or when a legal hold on our sealed copy ends. Siblings that never fetched it receive nothing. Siblings that fetched it are instructed to remove it, and the share shows which of them acknowledged this. Shares derived from it are recalled too.',
  permission: 'clades:write',
  audit: share,
  deletes: { counts: 'sharesRecalled' },
  params: ofShare,
  output: z.strictObject({
    data: z.strictObject({
      share_id: z.string(),
      recalled: z.array(z.string()).meta({ description: 'This share and the shares derived from it' }),
      withdrawn: z.int().meta({ description: 'Never fetched' }),
      to_acknowledge: z.int().meta({ description: 'Siblings that are instructed to remove it' }),
    }),
  }),
  refusals: ['not_found', 'fenced'],
})

const numbers = {
  returns: z.number().min(-1, 'must be at least -1').max(1e6).meta({ description: 'As a fraction: 0.12 is 12 %' }),
  sharpe: z.number().min(-100).max(100),
  drawdown: z.number().min(0).max(1).meta({ description: 'As a fraction' }),
}
const Card = z
  .strictObject({ agent_id: z.string(), from: time(), until: time(), ...numbers, published_at: time() })
  .meta({ id: 'PerformanceCard' })
const card = { resourceType: 'performance_card' }

export const publishCard = operation({
  id: 'publishPerformanceCard',
  method: 'put',
  path: '/v1/agents/{id}/card',
  summary: 'Publish the performance of an agent, the only part of a grimoire that can be public',
  permission: 'clades:write',
  audit: card,
  params: cladeAgentParams,
  body: z
    .strictObject({ from: Timestamp, until: Timestamp, ...numbers })
    .refine(({ from, until }) => from < until, { path: ['until'], error: 'must be after `from`' }),
  output: z.strictObject({ data: Card }),
  refusals: ['not_found', 'paused', 'dead', 'restricted', 'wrong_state', 'fenced', 'outside_region'],
})

export const readCard = operation({
  id: 'readPerformanceCard',
  method: 'get',
  path: '/v1/agents/{id}/card',
  summary: 'Get the performance card of an agent, if its owner published it',
  permission: 'clades:read',
  audit: { none: 'it is public, and does not identify the reader' },
  params: cladeAgentParams,
  output: z.strictObject({ data: Card }),
  refusals: ['not_found'],
})

export const withdrawCard = operation({
  id: 'withdrawPerformanceCard',
  method: 'delete',
  path: '/v1/agents/{id}/card',
  summary: 'Withdraw an agent’s performance card',
  permission: 'clades:write',
  audit: card,
  deletes: { counts: 'performanceCardsDeleted' },
  params: cladeAgentParams,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})

const delta = { resourceType: 'clade_delta' }

export const DeltaView = z
  .strictObject({
    seq: z.int(),
    action: z
      .enum(['add', 'remove'])
      .meta({ description: '`remove`: the share was recalled; delete it and everything derived from it' }),
    share_id: z.string(),
    from: z.string().nullable().meta({ description: 'The sibling that sent it; null if that sibling was erased' }),
    payload: CladePayload.nullable().meta({ description: 'Null if the share must be removed' }),
    digest: CladeDigest.nullable(),
    manifest: z.string().nullable(),
    shared_at: time().nullable(),
  })
  .meta({ id: 'CladeDelta' })
export type DeltaView = z.output<typeof DeltaView>

const After = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0)
const sequence = z.strictObject({ after: After, limit: PageLimit })
const Deltas = z.strictObject({
  data: z.array(DeltaView),
  next_after: z.int().meta({ description: 'Number after which to continue' }),
})

export const readDeltas = operation({
  id: 'readCladeDeltas',
  method: 'get',
  path: '/v1/agents/{id}/clade/deltas',
  summary: 'List what siblings sent and recalled, in order, until it is acknowledged',
  permission: 'clades:read',
  audit: delta,
  params: cladeAgentParams,
  query: sequence,
  contributed: true,
  output: Deltas,
  refusals: ['not_found'],
})

export const acknowledgeDeltas = operation({
  id: 'acknowledgeCladeDeltas',
  method: 'post',
  path: '/v1/agents/{id}/clade/deltas/ack',
  summary: 'Acknowledge shares that were received or removed',
  description:
    'Acknowledges everything up to this number: shares to add count as delivered, shares to remove as removed.',
  permission: 'clades:self',
  audit: { action: 'update', ...delta },
  params: cladeAgentParams,
  body: z.strictObject({ through: z.int().min(1) }),
  output: z.strictObject({
    data: z.strictObject({ through: z.int(), delivered: z.int(), removed: z.int() }),
  }),
  refusals: ['not_found', 'fenced', 'scope_too_small'],
})

export const listReceived = operation({
  id: 'listCladeReceived',
  method: 'get',
  path: '/v1/agents/{id}/clade/received',
  summary: 'List what an agent currently has from its siblings',
  permission: 'clades:read',
  audit: delta,
  params: cladeAgentParams,
  query: sequence,
  contributed: true,
  output: Deltas,
  refusals: ['not_found'],
})
