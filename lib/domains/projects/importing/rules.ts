import { z } from 'zod'
import { createConversation, createMessage } from '#lib/domains/projects/conversations/contract.ts'
import { addDocument } from '#lib/domains/projects/documents/contract.ts'
import { DataRegion } from '#lib/kernel/data-regions.ts'
import { Timestamp } from '#lib/kernel/pages.ts'
import { OwnId } from '../contract.ts'
import { Author } from '../participants/rules.ts'
import { fileTypes } from '../rules.ts'

/** Limits of one import and of one line. */
export const importBounds = {
  bytes: 512 * 1024 * 1024,
  lines: 200_000,
  /** Fits a message of 256 KiB in JSON with its provenance. */
  lineBytes: 2 * 1024 * 1024,
  /** Maximum number of faults in the response. The others are only counted. */
  faults: 100,
} as const

/** The region in which the imported data must stay, as in the export of its project. */
const ProjectLine = z.strictObject({ type: z.literal('project'), region: DataRegion.nullable() })
const ConversationLine = z.strictObject({
  type: z.literal('conversation'),
  id: OwnId,
  title: createConversation.body.shape.title,
  threads: createConversation.body.shape.threads,
  region: DataRegion.nullable().optional(),
  created_at: Timestamp.optional(),
})
const ParticipantLine = z.strictObject({ type: z.literal('participant'), ...Author.shape })
const MessageLine = z.strictObject({
  type: z.literal('message'),
  ...createMessage.body.shape,
  id: OwnId,
  conversation_id: OwnId,
})

const maxDocument = 1024 * 1024
const base64Of = (text: string): Uint8Array | undefined => {
  const bytes = Buffer.from(text, 'base64')
  // Node ignores invalid Base64 characters, so compare the re-encoded text.
  return bytes.toString('base64').replaceAll('=', '') === text.replaceAll('=', '') ? bytes : undefined
}
const DocumentLine = z
  .strictObject({
    type: z.literal('document'),
    id: OwnId,
    name: addDocument.query.shape.name,
    kind: addDocument.query.shape.kind,
    media_type: z.enum(fileTypes).default('text/plain'),
    content: z
      .string()
      .refine((text) => text.isWellFormed() && Buffer.byteLength(text) <= maxDocument, 'must have at most 1 MiB')
      .optional(),
    content_base64: z
      .string()
      .transform((text, ctx) => {
        const bytes = base64Of(text)
        if (bytes !== undefined && bytes.byteLength <= maxDocument) return bytes
        ctx.addIssue('must be Base64 of at most 1 MiB')
        return z.NEVER
      })
      .optional(),
    made_from: OwnId.optional(),
    author: Author.optional(),
    created_at: Timestamp.optional(),
    provenance: createMessage.body.shape.provenance,
  })
  .refine((line) => (line.content === undefined) !== (line.content_base64 === undefined), {
    path: ['content'],
    message: 'is required, unless `content_base64` is given',
  })

/** A line of an import. The application chooses the ids, so a repeated line is recognized. */
export const ImportLine = z.discriminatedUnion('type', [
  ProjectLine,
  ConversationLine,
  ParticipantLine,
  MessageLine,
  DocumentLine,
])
export type ImportLine = z.output<typeof ImportLine>
export type ProjectLine = z.output<typeof ProjectLine>
export type ConversationLine = z.output<typeof ConversationLine>
export type DocumentLine = z.output<typeof DocumentLine>
export type MessageLine = z.output<typeof MessageLine>

const fieldNames = new Set(
  [ProjectLine, ConversationLine, ParticipantLine, MessageLine, DocumentLine].flatMap(({ shape }) => [
    ...Object.keys(shape),
  ]),
)
/** The field of a line to which an issue refers. Null for unknown names, because they are input of the client. */
export const knownField = (path: readonly unknown[]): string | null => {
  const [first] = path
  return typeof first === 'string' && fieldNames.has(first) ? first : null
}
