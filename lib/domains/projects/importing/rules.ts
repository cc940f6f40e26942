import { z } from 'zod'
import { DataRegion } from '#lib/kernel/data-regions.ts'
import { parseJson } from '#lib/kernel/json.ts'
import { Timestamp } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { OwnId } from '../contract.ts'
import { createConversation, createMessage } from '../conversations/contract.ts'
import { addDocument } from '../documents/contract.ts'
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

const isProjectLine = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'project'

/** A line of NDJSON with its number, from 1. `bytes` is absent if the line is too long. */
interface NdjsonLine {
  number: number
  bytes?: Uint8Array
}
const newline = 10

/** Yields the lines of a stream without blank ones. Buffers at most `longest` bytes; a longer line is not buffered. */
export async function* ndjsonLinesOf(bytes: AsyncIterable<Uint8Array>, longest: number): AsyncGenerator<NdjsonLine> {
  let retained: Uint8Array[] = []
  let size = 0
  let number = 0
  const isBlank = (line: Uint8Array): boolean => line.every((code) => code === 32 || code === 9 || code === 13)
  function whole(): NdjsonLine | undefined {
    const [line, length] = [Buffer.concat(retained), size]
    retained = []
    size = 0
    number++
    if (length > longest) return { number }
    return isBlank(line) ? undefined : { number, bytes: line }
  }
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(newline, at)
      const rest = chunk.subarray(at, end < 0 ? chunk.length : end)
      size += rest.length
      if (size <= longest) retained.push(rest)
      else retained = []
      if (end < 0) break
      const line = whole()
      if (line) yield line
      at = end + 1
    }
  }
  const last = size > 0 ? whole() : undefined
  if (last) yield last
}

/**
 * Parses a line. Returns the problem of an invalid line: `malformed_json`, `too_large`, `invalid`.
 * @throws {Problem} `invalid` for an invalid `project` line
 */
export function parsedLine({ bytes }: NdjsonLine): ImportLine | Problem {
  if (!bytes) return new Problem('too_large', 'The line exceeds the size limit.')
  let value: unknown
  try {
    value = parseJson(bytes)
  } catch (error) {
    if (Problem.is(error)) return error
    throw error
  }
  const found = ImportLine.safeParse(value)
  if (found.success) return found.data
  const [issue] = found.error.issues
  const path = (issue?.path ?? []).filter((step) => typeof step !== 'symbol')
  // The message about unknown fields quotes their names, which are input of the client.
  const isUnknown = issue === undefined || issue.code === 'unrecognized_keys'
  const message = isUnknown ? 'The line has a field that this type does not have' : issue.message
  const problem = new Problem('invalid', { issues: [{ path, message }] })
  // Without this line, the data would be stored without its region.
  if (isProjectLine(value)) throw problem
  return problem
}
