import { z } from 'zod'
import { countField, Id, OwnId, Writer, WrittenBy, when } from '#lib/domains/projects/contract.ts'
import { ExternalId } from '#lib/domains/projects/participants/rules.ts'
import { FileName, fileTypes, projectDocumentKinds } from '#lib/domains/projects/rules.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'

export const DocumentView = z
  .strictObject({
    id: z.string(),
    project_id: z.string(),
    kind: z.enum(projectDocumentKinds).meta({ description: 'artifact: created by an agent' }),
    name: z.string(),
    media_type: z.string(),
    bytes: countField,
    sha256: z.string(),
    author: Writer,
    written_by: WrittenBy,
    made_from: z
      .string()
      .nullable()
      .meta({ description: 'The message from which it was derived. Erasing the message erases it too' }),
    chunks: countField.meta({ description: 'Number of text chunks stored with it' }),
    is_mine: z.boolean().meta({ description: 'True if you or one of your agents added it. You can erase it' }),
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'Document' })
export type DocumentView = z.output<typeof DocumentView>

const document = { resourceType: 'document' } as const
const params = z.strictObject({ projectId: Id })
const ofDocument = z.strictObject({ projectId: Id, documentId: Id })
const reading = { method: 'get', permission: 'projects:read' } as const

export const listDocuments = operation({
  ...reading,
  id: 'listDocuments',
  path: '/api/projects/{projectId}/documents',
  summary: 'List the documents and artifacts of a project, newest first',
  audit: document,
  params,
  query: z.strictObject({ kind: z.enum(projectDocumentKinds).optional(), cursor: Cursor.optional(), limit: PageLimit }),
  contributed: true,
  output: page(DocumentView),
  refusals: ['not_found'],
})
export const addDocument = operation({
  id: 'addDocument',
  method: 'post',
  path: '/api/projects/{projectId}/documents',
  summary: 'Add a document or an artifact',
  description:
    'The body is the file, at most 50 MiB. `name` is the file name, without a folder. Text (text/*, application/json; UTF-8) is also stored in chunks of at most 2,000 characters. A document derived from a message (`made_from`) is erased with that message. A rejected upload stores nothing.',
  permission: 'projects:write',
  stores: 'one record',
  audit: { resourceType: 'upload' },
  params,
  query: z.strictObject({
    name: FileName,
    kind: z.enum(projectDocumentKinds).default('document'),
    id: OwnId.optional(),
    made_from: Id.optional(),
    created_at: Timestamp.optional().meta({
      description: 'When it was created, for imported documents; by default now',
    }),
    author: ExternalId.optional().meta({
      description: 'The `external_id` of the participant on whose behalf an agent adds it',
    }),
  }),
  upload: fileTypes,
  contributed: true,
  output: z.strictObject({ data: DocumentView }),
  secrets: ['name', 'author', 'sha256'],
  refusals: [
    'not_found',
    'forbidden',
    'id_in_use',
    'erased',
    'fenced',
    'wrong_state',
    'conflict',
    'idempotency_in_progress',
    'restricted',
  ],
})
export const readDocument = operation({
  ...reading,
  id: 'readDocument',
  path: '/api/projects/{projectId}/documents/{documentId}',
  summary: 'A document',
  audit: document,
  params: ofDocument,
  contributed: true,
  output: z.strictObject({ data: DocumentView }),
  refusals: ['not_found', 'restricted'],
})
export const downloadDocument = operation({
  ...reading,
  id: 'downloadDocument',
  path: '/api/projects/{projectId}/documents/{documentId}/content',
  summary: 'Download a document',
  audit: document,
  params: ofDocument,
  contributed: true,
  output: z.string(),
  produces: fileTypes,
  refusals: ['not_found', 'restricted'],
})
