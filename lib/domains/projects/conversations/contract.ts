import { z } from 'zod'
import { countField, Id, OwnId, Writer, WrittenBy, when } from '#lib/domains/projects/contract.ts'
import { Author } from '#lib/domains/projects/participants/rules.ts'
import { ProvenancePointer } from '#lib/domains/projects/provenance/contract.ts'
import {
  ExternalReference,
  FileName,
  fileTypes,
  MessageContent,
  most,
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
    region: z.string().nullable().meta({ description: 'Its own; null: that of the project' }),
    threads: z
      .array(z.string())
      .meta({ description: 'LangGraph’s thread_ids that carry it; its own id is always one of them' }),
    created_by: Writer,
    messages: countField,
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'Conversation' })
export type ConversationView = z.output<typeof ConversationView>

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
  content: z.string().meta({ description: 'As it was said: text to be escaped, never markup' }),
  edits: countField.meta({ description: 'How often it was changed' }),
  attachments: z.array(AttachmentView),
  is_mine: z.boolean().meta({ description: 'You wrote it, or an agent of yours: you may change and erase it' }),
  created_at: when,
  updated_at: when,
}
export const MessageView = z.strictObject(messageFields).meta({ id: 'Message' })
export type MessageView = z.output<typeof MessageView>
const EditView = z
  .strictObject({ id: z.string(), content: z.string(), edited_by: Writer, edited_at: when })
  .meta({ id: 'MessageEdit', description: 'What it said until then' })
export const MessageDetail = z
  .strictObject({
    ...messageFields,
    former: z.array(EditView).meta({ description: 'The newest 100, newest first; none without the scope `read`' }),
  })
  .meta({ id: 'MessageDetail' })
export type MessageDetail = z.output<typeof MessageDetail>

const conversation = { resourceType: 'conversation' } as const
const message = { resourceType: 'message' } as const
const params = z.strictObject({ projectId: Id })
const ofConversation = z.strictObject({ projectId: Id, conversationId: Id })
const ofMessage = z.strictObject({ projectId: Id, conversationId: Id, messageId: Id })
const reading = { method: 'get', permission: 'projects:read', limit: 'read', status: 200 } as const
const writing = { permission: 'projects:write', limit: 'write' } as const
const paging = { cursor: Cursor.optional(), limit: PageLimit }
const Threads = z.array(ExternalReference).max(most.threads, `must have at most ${most.threads} threads`)

export const listConversations = operation({
  ...reading,
  id: 'listConversations',
  path: '/api/projects/{projectId}/conversations',
  summary: 'Conversations of a project, newest first',
  audit: { action: 'read', ...conversation },
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
  summary: 'Begin a conversation',
  description:
    '`threads`: LangGraph’s thread_ids that carry it, so that its erasure finds them; its own id is one, unless you chose an id outside your organisation’s namespace, or a conversation of another project has the thread. `id`: unique within the project. No two conversations share one. A thread begins with your organisation’s prefix (GET /api/stores/namespace), or has the id of this project or conversation in it. One that has checkpoints already, and no such id, a manager of the organisation or an admin names.',
  stores: 'one record',
  audit: { action: 'create', ...conversation },
  status: 201,
  params,
  body: z.strictObject({
    id: OwnId.optional(),
    title: SingleLine,
    threads: Threads.optional(),
    region: DataRegion.optional().meta({ description: 'Within the region of the project. Fixed at creation' }),
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
  audit: { action: 'read', ...conversation },
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
  summary: 'Change a conversation’s title, or name more threads',
  description: 'Threads are added, and none is taken away: what lies in one would be found no more.',
  audit: { action: 'update', ...conversation },
  status: 200,
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
  summary: 'Messages of a conversation',
  description:
    'In the order in which they were said, or the newest first. A page ends early where its messages have more than 4 MiB.',
  audit: { action: 'read', ...message },
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
  summary: 'Say something in a conversation',
  description:
    'It is kept as it was said. `provenance`: what came of it in other stores, as far as it is known already; that the conversation’s checkpoints know it by its id is written down without being told.',
  stores: 'one record',
  audit: { action: 'create', ...message },
  status: 201,
  params: ofConversation,
  bodyLimit: 1024 * 1024,
  body: z.strictObject({
    id: OwnId.optional(),
    role: z.enum(projectMessageRoles),
    content: MessageContent,
    author: Author.optional(),
    created_at: Timestamp.optional().meta({
      description: 'When it was said, for what is brought from elsewhere; now unless told',
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
  summary: 'A message, with what it said before',
  description:
    'One that was erased answers 410 with the receipt’s id; while it is being erased it is a 404 with `audit_id`, under which `GET /api/erasures/{id}` says how far that is.',
  audit: { action: 'read', ...message },
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
  summary: 'Say a message otherwise',
  description: 'For who wrote it. What it said is kept as an edit, and goes with it.',
  stores: 'one record',
  audit: { action: 'update', ...message },
  status: 200,
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
  description:
    'For who wrote it. The body is the file itself, 10 MiB at most; `name` is what it is called, without a folder.',
  stores: 'one record',
  audit: { action: 'create', resourceType: 'upload' },
  status: 201,
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
  summary: 'A file of a message, as a download',
  audit: { action: 'read', resourceType: 'attachment' },
  params: z.strictObject({ ...ofMessage.shape, attachmentId: Id }),
  contributed: true,
  output: z.string(),
  produces: fileTypes,
  refusals: ['not_found', 'restricted'],
})
