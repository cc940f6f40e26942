import { z } from 'zod'
import { tiers } from '#lib/domains/tokens/rules.ts'
import { DataRegion } from '#lib/kernel/data-regions.ts'
import { operation, sharedFields, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import {
  agentDocumentKinds,
  agentStatuses,
  chainReferenceKinds,
  documentBytes,
  heartbeatCounts,
  heartbeatStates,
  heartbeatsCountedTo,
  maxChainReferences,
  maxDocuments,
} from './rules.ts'

const agent = { resourceType: 'agent' } as const
/** An agent's id in a path; also accepts ids that earlier versions allowed. */
export const AgentParam = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
const agentParams = z.strictObject({ id: AgentParam })

/** Fixed properties and settings of an agent. */
export const lifeFields = sharedFields('AgentLife', {
  status: z.enum(agentStatuses).meta({
    id: 'AgentStatus',
    description:
      'Set by its owner. `paused`: the agent can read but not write. `dead`: the agent is retired, and for 24 hours its tokens can only export heartbeats. A restriction of processing is reported in `restricted_at`.',
  }),
  status_at: time()
    .nullable()
    .meta({ description: 'When this status was set; null if it has not changed since creation' }),
  died_at: time().nullable(),
  region: z.string().nullable().meta({ description: 'Fixed at creation; null: no region is required' }),
  self_hosted: z.boolean().meta({
    description:
      'The agent runs and stores its memory elsewhere. Only shared data is stored here, and nothing else is accepted',
  }),
  automatic_snapshots: z.boolean().meta({
    description:
      'Whether a snapshot is created every six hours. An agent without a keyring has none, because nobody could open it',
  }),
})
/** Properties that are set at creation and never change. */
export const birthFields = {
  region: DataRegion.optional().meta({
    description:
      'Region in which all data of the agent must be stored. Rejected (`outside_region`) if a store or a service of this installation is in another region.',
  }),
  self_hosted: z.boolean().optional().meta({
    description:
      'The agent runs and stores its memory elsewhere. Only data that it shares is stored here. Requests to store other data here (documents, heartbeats, blockchain references, a keyring, entries, a state, logged exchanges) are rejected (`conflict`).',
  }),
}

export const LivingAgent = z
  .strictObject({
    agent_id: z.string(),
    name: z.string().nullable(),
    tier: z.enum(tiers),
    ...lifeFields,
    restricted_at: time().nullable(),
    owner_claimed: z.boolean(),
    grimoire_days: z
      .int()
      .nullable()
      .meta({ description: 'Days after which a grimoire entry is deleted; null: never' }),
    document_days: z.int().nullable().meta({
      description: 'Days after its last change after which a thesis or a playbook is deleted; null: never',
    }),
    sharing_since: time().nullable().meta({ description: 'When sharing with siblings was switched on; null: off' }),
    created_at: time(),
  })
  .meta({ id: 'LivingAgent' })
export type LivingAgent = z.output<typeof LivingAgent>

export const readAgent = operation({
  id: 'readAgent',
  method: 'get',
  path: '/v1/agents/{id}',
  summary: 'Get an agent of yours, with its status',
  description: 'For the agent, by its token, and for its owner. For anyone else it returns 404.',
  permission: 'agents:read',
  audit: agent,
  params: agentParams,
  output: z.strictObject({ data: LivingAgent }),
  refusals: ['not_found'],
})

export const setAgentStatus = operation({
  id: 'setAgentStatus',
  method: 'put',
  path: '/v1/agents/{id}/status',
  summary: 'Pause, resume or retire an agent',
  description:
    'While an agent is paused, nothing can be written for it (403 `paused`). If the agent has an owner, only the owner can resume it. `dead` retires the agent permanently and requires `confirm`, the agent’s id, and the owner’s session if the agent has an owner. From then on its tokens are rejected (403 `dead`), except to export its heartbeats for 24 hours.',
  permission: 'agents:self',
  audit: agent,
  params: agentParams,
  body: z.strictObject({
    status: z.enum(agentStatuses),
    confirm: z.string().max(64).optional().meta({ description: 'For `dead`: the agent’s id, repeated' }),
  }),
  output: z.strictObject({ data: LivingAgent, message: z.string() }),
  refusals: ['not_found', 'wrong_state', 'forbidden', 'dead', 'paused', 'step_up_required'],
})

const RetentionDays = z.int().min(1, 'must be at least 1').max(3650, 'must be at most 3,650').nullable()

export const setAgentSettings = operation({
  id: 'setAgentSettings',
  method: 'patch',
  path: '/v1/agents/{id}/settings',
  summary: 'Change what an agent stores, and for how long',
  description:
    'Grimoire entries are deleted `grimoire_days` after their creation, theses and playbooks `document_days` after their last change, within an hour; null: never. Expired records are invisible at once. Omitted fields remain unchanged.',
  permission: 'agents:write',
  audit: agent,
  params: agentParams,
  body: z
    .strictObject({ grimoire_days: RetentionDays.optional(), document_days: RetentionDays.optional() })
    .refine((body) => Object.values(body).some((value) => value !== undefined), 'must contain at least one change'),
  output: z.strictObject({ data: LivingAgent }),
  refusals: ['not_found', 'paused', 'dead', 'restricted', 'wrong_state', 'conflict'],
})

const reference = { resourceType: 'chain_reference' } as const
/** Why the referenced blockchain data cannot be erased. */
export const chainPermanence =
  'Data on a public blockchain is public and permanent. Nobody can change or erase it there, including us. We store only a reference to it, and can erase that reference.'

const ChainReference = z
  .strictObject({
    id: z.string(),
    chain: z.string().meta({ description: 'CAIP-2, for example eip155:1 or bip122:…' }),
    kind: z.enum(chainReferenceKinds),
    reference: z.string().meta({ description: 'An Ethereum address uses EIP-55 capitals' }),
    reported_at: time(),
    is_public: z.literal(true),
    is_permanent: z.literal(true),
  })
  .meta({ id: 'ChainReference' })

export const listChainReferences = operation({
  id: 'listChainReferences',
  method: 'get',
  path: '/v1/agents/{id}/chain-references',
  summary: 'List the blockchain references of an agent, newest first',
  description: chainPermanence,
  permission: 'agents:read',
  audit: reference,
  params: agentParams,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(ChainReference).extend({ why: z.string().meta({ description: 'Explains why the data is permanent' }) }),
  refusals: ['not_found'],
})

export const addChainReference = operation({
  id: 'addChainReference',
  alsoStatus: [200],
  method: 'post',
  path: '/v1/agents/{id}/chain-references',
  summary: 'Add a reference to blockchain data about an agent',
  description: `${chainPermanence} An existing reference is returned with 200. At most ${maxChainReferences.toLocaleString('en')} references per agent.`,
  permission: 'agents:write',
  stores: 'one record',
  audit: reference,
  params: agentParams,
  body: z.strictObject({
    chain: z.string().max(41),
    kind: z.enum(chainReferenceKinds),
    reference: z.string().min(1).max(128),
  }),
  output: z.strictObject({ data: ChainReference, why: z.string() }),
  // The reference may be deleted before the stored idempotent response expires.
  secrets: ['chain', 'reference'],
  refusals: ['not_found', 'conflict', 'paused', 'dead', 'restricted', 'wrong_state', 'fenced'],
})

export const deleteChainReference = operation({
  id: 'deleteChainReference',
  method: 'delete',
  path: '/v1/agents/{id}/chain-references/{referenceId}',
  summary: 'Delete our reference to blockchain data about an agent',
  description: `Works for paused agents. For a retired agent, only its owner can delete. ${chainPermanence}`,
  permission: 'agents:write',
  audit: reference,
  deletes: { counts: 'chainReferencesDeleted' },
  params: z.strictObject({
    id: AgentParam,
    referenceId: z.string().regex(/^chain_[0-9A-Za-z]{22}$/, 'is not the id of a note'),
  }),
  output: z.strictObject({ message: z.string() }),
  refusals: ['not_found', 'held'],
})

const document = { resourceType: 'agent_document' } as const
const ofDocument = z.strictObject({
  id: AgentParam,
  documentId: z.string().regex(/^adoc_[0-9A-Za-z]{22}$/, 'is not the id of a document'),
})
const Title = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(200, 'must have at most 200 characters')
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
const Body = z
  .string()
  .min(1, 'must not be empty')
  .refine((text) => new TextEncoder().encode(text).length <= documentBytes, 'must have at most 256 KiB')
  .meta({
    description:
      'Markdown. It is sanitized before it is stored. Text with a private key or a seed phrase is rejected (`content_blocked`, with kinds and places)',
  })
const Revision = z.int().min(1).max(2_147_483_646)

const listed = {
  id: z.string(),
  kind: z.enum(agentDocumentKinds),
  title: z.string(),
  bytes: z.int(),
  revision: Revision.meta({ description: 'Starts at 1. To change a document, send the revision that you read' }),
  created_at: time(),
  updated_at: time(),
}
const ListedAgentDocument = z.strictObject(listed).meta({ id: 'ListedAgentDocument' })
export const AgentDocument = z.strictObject({ ...listed, body: z.string() }).meta({ id: 'AgentDocument' })
/** The result of a change without the content: responses stored for idempotent retries must not contain it. */
const Changed = z
  .strictObject({
    id: z.string(),
    revision: Revision,
    is_as_sent: z
      .boolean()
      .meta({ description: 'False if sanitizing removed something. Read the document to see the stored text' }),
    updated_at: time(),
  })
  .meta({ id: 'ChangedAgentDocument' })
// JSON escapes can make the text several times longer.
const bodyLimit = 2 * 1024 * 1024
const writing = [
  'not_found',
  'paused',
  'dead',
  'restricted',
  'wrong_state',
  'content_rejected',
  'content_blocked',
  'fenced',
] as const

export const listAgentDocuments = operation({
  id: 'listAgentDocuments',
  method: 'get',
  path: '/v1/agents/{id}/documents',
  summary: 'List the strategy theses and playbooks of an agent, newest first',
  permission: 'agents:read',
  audit: document,
  params: agentParams,
  query: z.strictObject({ kind: z.enum(agentDocumentKinds).optional(), cursor: Cursor.optional(), limit: PageLimit }),
  contributed: true,
  output: page(ListedAgentDocument),
  refusals: ['not_found'],
})

export const addAgentDocument = operation({
  id: 'addAgentDocument',
  method: 'post',
  path: '/v1/agents/{id}/documents',
  summary: 'Store a strategy thesis or a playbook',
  description: `Only the agent and its owner can read it, not even an admin. It is stored until one of them deletes it, or until it expires with document_days. At most ${maxDocuments.toLocaleString('en')} documents per agent, each at most 256 KiB.`,
  permission: 'agents:write',
  stores: 'one record',
  audit: document,
  params: agentParams,
  body: z.strictObject({ kind: z.enum(agentDocumentKinds), title: Title, body: Body }),
  bodyLimit,
  output: z.strictObject({ data: Changed }),
  refusals: [...writing, 'conflict'],
})

export const readAgentDocument = operation({
  id: 'readAgentDocument',
  method: 'get',
  path: '/v1/agents/{id}/documents/{documentId}',
  summary: 'Get a document of an agent',
  permission: 'agents:read',
  audit: document,
  params: ofDocument,
  query: z.strictObject({
    format: z.enum(['json', 'md']).default('json').meta({ description: '`md`: its text as a Markdown file' }),
  }),
  contributed: true,
  output: z.union([z.strictObject({ data: AgentDocument }), z.string()]),
  produces: ['application/json', 'text/markdown'],
  refusals: ['not_found'],
})

export const editAgentDocument = operation({
  id: 'editAgentDocument',
  method: 'put',
  path: '/v1/agents/{id}/documents/{documentId}',
  summary: 'Change a document of an agent',
  description:
    '`revision` must be the revision that you read. If the document has changed since, the request returns 409 and changes nothing.',
  permission: 'agents:write',
  stores: 'bytes',
  audit: document,
  params: ofDocument,
  body: z.strictObject({ revision: Revision, title: Title, body: Body }),
  bodyLimit,
  output: z.strictObject({ data: Changed }),
  refusals: [...writing, 'conflict'],
})

export const deleteAgentDocument = operation({
  id: 'deleteAgentDocument',
  method: 'delete',
  path: '/v1/agents/{id}/documents/{documentId}',
  summary: 'Delete a document of an agent',
  description:
    'Works for paused agents. For a retired agent, only its owner can delete. Deletes the document permanently.',
  permission: 'agents:write',
  audit: document,
  deletes: { counts: 'agentDocumentsDeleted' },
  params: ofDocument,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})

const heartbeat = { resourceType: 'heartbeat' } as const
const number = z.number().min(0, 'must be at least 0').max(1e15, 'must be at most 1e15')
const Counts = z
  .strictObject(
    Object.fromEntries(heartbeatCounts.map((name) => [name, number.optional()])) as Record<
      (typeof heartbeatCounts)[number],
      z.ZodOptional<typeof number>
    >,
  )
  .meta({ description: 'Numbers under these names. A heartbeat contains no free text' })

const Heartbeat = z
  .strictObject({ at: time(), state: z.enum(heartbeatStates), counts: z.record(z.string(), z.number()) })
  .meta({ id: 'Heartbeat' })

export const beatHeart = operation({
  id: 'addHeartbeat',
  alsoStatus: [200],
  method: 'post',
  path: '/v1/agents/{id}/heartbeats',
  summary: 'Report a heartbeat of an agent, with its state',
  description:
    'At most one heartbeat per second is stored; further ones are accepted but not stored. `at` is the agent’s own clock, by default the current time. It may be at most five minutes ahead of ours or 24 hours late. Stored until 24 hours after the agent is retired.',
  permission: 'agents:write',
  stores: 'bytes',
  audit: {
    none: 'a heartbeat is itself a log record: a time, a state and numbers. An audit entry for each would repeat it',
  },
  status: 201,
  params: agentParams,
  body: z.strictObject({ at: Timestamp.optional(), state: z.enum(heartbeatStates), counts: Counts.prefault({}) }),
  output: z.strictObject({ data: z.strictObject({ at: time(), is_kept: z.boolean() }) }),
  refusals: ['not_found', 'paused', 'dead', 'restricted', 'wrong_state', 'conflict', 'fenced'],
})

const between = {
  from: Timestamp.optional().meta({ description: 'Inclusive' }),
  to: Timestamp.optional().meta({ description: 'Inclusive' }),
}

export const listHeartbeats = operation({
  id: 'listHeartbeats',
  method: 'get',
  path: '/v1/agents/{id}/heartbeats',
  summary: 'List the heartbeats of an agent, newest first',
  description: `\`total\` stops counting at ${heartbeatsCountedTo.toLocaleString('en')}.`,
  permission: 'agents:read',
  audit: heartbeat,
  params: agentParams,
  query: z.strictObject({ ...between, cursor: Cursor.optional(), limit: PageLimit }),
  output: page(Heartbeat),
  refusals: ['not_found'],
})

export const exportHeartbeats = operation({
  id: 'exportHeartbeats',
  method: 'get',
  path: '/v1/agents/{id}/heartbeats/export',
  summary: 'Export all heartbeats of an agent as JSON Lines, oldest first',
  description:
    'The only operation that a retired agent’s token can still use, for 24 hours after retirement. After that the heartbeats are deleted: 410 `expired`.',
  permission: 'agents:read',
  isOpenToDead: true,
  audit: { action: 'export', ...heartbeat },
  params: agentParams,
  output: z.string(),
  produces: ['application/jsonl'],
  refusals: ['not_found', 'expired'],
})
