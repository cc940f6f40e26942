import { z } from 'zod'
import { countField, Id, OwnId, Writer, WrittenBy, when } from '#lib/domains/projects/contract.ts'
import { Author } from '#lib/domains/projects/participants/rules.ts'
import { ProvenancePointer } from '#lib/domains/projects/provenance/contract.ts'
import {
  ExternalReference,
  FileName,
  fileTypes,
  MessageContent,
  max,
  projectMessageRoles,
  SingleLine,
} from '#lib/domains/projects/rules.ts'
import { DataRegion } from '#lib/kernel/data-regions.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'

export const ConversationView = z
  .strictObject({
    id: z.string(),
    project_id: z.string(),
    title: z.string(),
    region: z.string().nullable().meta({ description: 'The conversation’s own region; null: that of the project' }),
    threads: z
      .array(z.string())
      .meta({ description: 'LangGraph thread_ids of this conversation. Its own id is always one of them' }),
    created_by: Writer,
    messages: countField,
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'Conversation' })
/** As a use case returns it. */
export type ConversationView = z.input<typeof ConversationView>

export const AttachmentView = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    media_type: z.string(),
    bytes: countField,
    sha256: z.string(),
    created_at: when,
  })
  .meta({ id: 'Attachment' })
export type AttachmentView = z.output<typeof AttachmentView>

const messageFields = {
  id: z.string(),
  conversation_id: z.string(),
  role: z.enum(projectMessageRoles),
  author: Writer,
  written_by: WrittenBy,
  content: z.string().meta({ description: 'The original text. Escape it; it is never markup' }),
  edits: countField.meta({ description: 'Number of edits' }),
  attachments: z.array(AttachmentView),
  is_mine: z.boolean().meta({ description: 'True if you or one of your agents wrote it. You can change and erase it' }),
  created_at: when,
  updated_at: when,
}
export const MessageView = z.strictObject(messageFields).meta({ id: 'Message' })
/** As a use case returns it. */
export type MessageView = z.input<typeof MessageView>
const EditView = z
  .strictObject({ id: z.string(), content: z.string(), edited_by: Writer, edited_at: when })
  .meta({ id: 'MessageEdit', description: 'The text before this edit' })
export const MessageDetail = z
  .strictObject({
    ...messageFields,
    former: z.array(EditView).meta({ description: 'The newest 100, newest first; empty without the scope `read`' }),
  })
  .meta({ id: 'MessageDetail' })
/** As a use case returns it. */
export type MessageDetail = z.input<typeof MessageDetail>

const conversation = { resourceType: 'conversation' } as const
const message = { resourceType: 'message' } as const
const params = z.strictObject({ projectId: Id })
const ofConversation = z.strictObject({ projectId: Id, conversationId: Id })
const ofMessage = z.strictObject({ projectId: Id, conversationId: Id, messageId: Id })
const reading = { method: 'get', permission: 'projects:read' } as const
const writing = { permission: 'projects:write' } as const
const paging = { cursor: Cursor.optional(), limit: PageLimit }
const Threads = z.array(ExternalReference).max(max.threads, `must have at most ${max.threads} threads`)

export const listConversations = operation({
  ...reading,
  id: 'listConversations',
  path: '/api/projects/{projectId}/conversations',
  summary: 'List the conversations of a project, newest first',
  audit: conversation,
  params,
  query: z.strictObject(paging),
  contributed: true,
  output: page(ConversationView),
  refusals: ['not_found'],
})
export const createConversation = operation({
  ...writing,
  id: 'createConversation',
  method: 'post',
  path: '/api/projects/{projectId}/conversations',
  summary: 'Create a conversation',
  description:
    '`threads`: LangGraph thread_ids of the conversation, so that its erasure finds them. Its own id is included, unless you chose an id outside your organization’s namespace, or a conversation of another project has the thread. `id`: unique within the project. A thread must begin with your organization’s prefix (GET /api/stores/namespace) or contain the id of this project or conversation. If a thread does not contain such an id and already has checkpoints, only a manager of the organization or an admin can add it.',
  stores: 'one record',
  audit: conversation,
  params,
  body: z.strictObject({
    id: OwnId.optional(),
    title: SingleLine,
    threads: Threads.optional(),
    region: DataRegion.optional().meta({ description: 'Within the region of the project. Cannot be changed later' }),
  }),
  contributed: true,
  output: z.strictObject({ data: ConversationView }),
  secrets: ['title', 'created_by'],
  refusals: ['not_found', 'id_in_use', 'erased', 'fenced', 'wrong_state', 'conflict'],
})
export const readConversation = operation({
  ...reading,
  id: 'readConversation',
  path: '/api/projects/{projectId}/conversations/{conversationId}',
  summary: 'A conversation',
  audit: conversation,
  params: ofConversation,
  contributed: true,
  output: z.strictObject({ data: ConversationView }),
  refusals: ['not_found'],
})
export const editConversation = operation({
  ...writing,
  id: 'editConversation',
  method: 'patch',
  path: '/api/projects/{projectId}/conversations/{conversationId}',
  summary: 'Change a conversation’s title, or add threads',
  description: 'Threads can be added but not removed: the data in a removed thread could no longer be found.',
  audit: conversation,
  params: ofConversation,
  body: z
    .strictObject({ title: SingleLine.optional(), threads: Threads.optional() })
    .refine((body) => Object.values(body).some((value) => value !== undefined), 'must contain at least one change'),
  contributed: true,
  output: z.strictObject({ data: ConversationView }),
  refusals: ['not_found', 'fenced', 'wrong_state', 'conflict'],
})

export const listMessages = operation({
  ...reading,
  id: 'listMessages',
  path: '/api/projects/{projectId}/conversations/{conversationId}/messages',
  summary: 'List the messages of a conversation',
  description: 'In chronological order, or newest first. A page ends early if its messages have more than 4 MiB.',
  audit: message,
  params: ofConversation,
  query: z.strictObject({ ...paging, order: z.enum(['oldest', 'newest']).default('oldest') }),
  contributed: true,
  output: page(MessageView),
  refusals: ['not_found'],
})
export const createMessage = operation({
  ...writing,
  id: 'createMessage',
  method: 'post',
  path: '/api/projects/{projectId}/conversations/{conversationId}/messages',
  summary: 'Add a message to a conversation',
  description:
    'The text is stored unchanged. `provenance`: data derived from it in other stores, if already known. Its id in the conversation’s checkpoints is recorded automatically.',
  stores: 'one record',
  audit: message,
  params: ofConversation,
  bodyLimit: 1024 * 1024,
  body: z.strictObject({
    id: OwnId.optional(),
    role: z.enum(projectMessageRoles),
    content: MessageContent,
    author: Author.optional(),
    created_at: Timestamp.optional().meta({
      description: 'When it was written, for imported messages; by default now',
    }),
    provenance: z.array(ProvenancePointer).max(100, 'must have at most 100 entries').optional(),
  }),
  contributed: true,
  output: z.strictObject({ data: MessageView }),
  secrets: ['content', 'author', 'attachments'],
  refusals: ['not_found', 'forbidden', 'id_in_use', 'erased', 'fenced', 'wrong_state', 'conflict', 'restricted'],
})
export const readMessage = operation({
  ...reading,
  id: 'readMessage',
  path: '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}',
  summary: 'Get a message, with its earlier texts',
  description:
    'An erased message returns 410 with the receipt’s id. While it is being erased, it returns 404 with `audit_id`: GET /api/erasures/{id} reports the progress.',
  audit: message,
  params: ofMessage,
  contributed: true,
  output: z.strictObject({ data: MessageDetail }),
  refusals: ['not_found', 'erased', 'restricted'],
})
export const editMessage = operation({
  ...writing,
  id: 'editMessage',
  method: 'patch',
  path: '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}',
  summary: 'Edit a message',
  description: 'Only for its author. The previous text is stored as an edit and erased together with the message.',
  stores: 'one record',
  audit: message,
  params: ofMessage,
  bodyLimit: 1024 * 1024,
  body: z.strictObject({ content: MessageContent }),
  contributed: true,
  output: z.strictObject({ data: MessageDetail }),
  refusals: ['not_found', 'forbidden', 'fenced', 'wrong_state', 'conflict', 'restricted'],
})

export const attachFile = operation({
  ...writing,
  id: 'attachFile',
  method: 'post',
  path: '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}/attachments',
  summary: 'Attach a file to a message',
  description: 'Only for its author. The body is the file, at most 10 MiB. `name` is the file name, without a folder.',
  stores: 'one record',
  audit: { resourceType: 'upload' },
  params: ofMessage,
  query: z.strictObject({ name: FileName }),
  upload: fileTypes,
  contributed: true,
  output: z.strictObject({ data: AttachmentView }),
  secrets: ['name', 'sha256'],
  refusals: ['not_found', 'forbidden', 'fenced', 'wrong_state', 'conflict', 'idempotency_in_progress', 'restricted'],
})
export const downloadAttachment = operation({
  ...reading,
  id: 'downloadAttachment',
  path: '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}/attachments/{attachmentId}',
  summary: 'Download a file of a message',
  audit: { resourceType: 'attachment' },
  params: z.strictObject({ ...ofMessage.shape, attachmentId: Id }),
  contributed: true,
  output: z.string(),
  produces: fileTypes,
  refusals: ['not_found', 'restricted'],
})
