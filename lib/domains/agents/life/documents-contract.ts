import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { AgentParam, agentParams } from './contract.ts'
import { agentDocumentKinds, documentBytes, mostDocuments } from './rules.ts'

const when = z.iso.datetime()
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
  created_at: when,
  updated_at: when,
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
    updated_at: when,
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
  audit: { action: 'read', ...document },
  limit: 'read',
  status: 200,
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
  description: `Only the agent and its owner can read it, not even an admin. It is stored until one of them deletes it. At most ${mostDocuments.toLocaleString('en')} documents per agent, each at most 256 KiB.`,
  permission: 'agents:write',
  stores: 'one record',
  audit: { action: 'create', ...document },
  limit: 'write',
  status: 201,
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
  audit: { action: 'read', ...document },
  limit: 'read',
  status: 200,
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
  audit: { action: 'update', ...document },
  limit: 'write',
  status: 200,
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
  audit: { action: 'delete', ...document },
  deletes: { counts: 'agentDocumentsDeleted' },
  limit: 'write',
  status: 204,
  params: ofDocument,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})
