import { z } from 'zod'

export const projectStatuses = ['active', 'closing', 'closed'] as const
export type ProjectStatus = (typeof projectStatuses)[number]
export const projectMemberRoles = ['owner', 'member'] as const
export type MemberRole = (typeof projectMemberRoles)[number]
/** How a reader sees a project: as a member, or by an office, which shows the project without its content. */
export const seenRoles = [...projectMemberRoles, 'manager', 'admin'] as const
export const memberKinds = ['account', 'agent'] as const
export type MemberKind = (typeof memberKinds)[number]
/** Possible authors of messages and documents: members, and participants on whose behalf an agent writes. */
export const writerKinds = [...memberKinds, 'participant'] as const
export type WriterKind = (typeof writerKinds)[number]
export const projectMessageRoles = ['user', 'assistant', 'system', 'tool'] as const
export const projectDocumentKinds = ['document', 'artifact'] as const
export type ProjectDocumentKind = (typeof projectDocumentKinds)[number]
export const provenanceStores = ['checkpoints', 'graph', 'cache', 'objects', 'outside'] as const
/** Reasons for the erasure of a part of a project. */
export const erasureReasons = ['user_request', 'gdpr_erasure', 'deal_closure'] as const

/** Maximum sizes: bytes of a message, attachment and document; characters of a chunk; numbers of the others. */
export const max = {
  message: 256 * 1024,
  attachment: 10 * 1024 * 1024,
  document: 50 * 1024 * 1024,
  chunk: 2_000,
  threads: 100,
  entries: 1_000,
  entityKinds: 200,
} as const

/** Media types that may be uploaded. All are returned as downloads that a browser does not execute. */
export const fileTypes = [
  'application/json',
  'application/msword',
  'application/octet-stream',
  'application/pdf',
  'application/rtf',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/xml',
  'application/zip',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/svg+xml',
  'image/webp',
  'message/rfc822',
  'text/calendar',
  'text/csv',
  'text/html',
  'text/markdown',
  'text/plain',
  'text/tab-separated-values',
  'text/xml',
  'video/mp4',
  'video/webm',
] as const

/** Whether the text of a file is stored in chunks. */
export const isTextMediaType = (mediaType: string): boolean =>
  mediaType.startsWith('text/') || mediaType === 'application/json'

/** Invisible characters, direction marks and line breaks. Joiners are allowed, because some scripts need them. */
const unseen = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/** One line of text, for example a name or a title. */
export const SingleLine = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(200, 'must have at most 200 characters')
  .refine((text) => !unseen.test(text), 'must not contain control characters, line breaks or invisible characters')
  .transform((text) => text.normalize('NFC'))
/** The name of a file, without a folder. */
export const FileName = SingleLine.refine(
  (name) => !/[/\\]/.test(name),
  'must not contain a slash. Send the name without its folder',
).refine((name) => !/^\.+$/.test(name), 'is not a file name')
/** Text of a message. Stored unchanged, and escaped wherever it is shown. */
export const MessageContent = z
  .string()
  .min(1, 'must not be empty')
  .refine((text) => Buffer.byteLength(text) <= max.message, 'must have at most 256 KiB')
  .refine(isStorable, 'must not contain NUL characters or unpaired surrogates')

/** An id that a client chose, or a generated one. */
export const projectIdForm = /^(?!\.+$)[\w.:-]{1,200}$/
/** The name of something in another store: any text without control characters. */
export const ExternalReference = z
  .string()
  .min(1, 'must not be empty')
  .max(1_000, 'must have at most 1,000 characters')
  .refine((text) => isStorable(text) && !/\p{Cc}/u.test(text), 'must not contain control characters')

/** Whether the text is a host name with a dot: `crm.example.org`. */
export const isHostName = (text: string): boolean =>
  text.length <= 100 && /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(text)

/** Best position to divide a text: after a line, a sentence or a word; never inside a surrogate pair. */
function breakIn(text: string, max: number): number {
  if (text.length <= max) return text.length
  const least = Math.floor(max * 0.6)
  for (const sign of ['\n', '. ', '。', ' ']) {
    const at = text.lastIndexOf(sign, max - sign.length)
    if (at >= least) return at + sign.length
  }
  const code = text.charCodeAt(max - 1)
  return code >= 0xd800 && code <= 0xdbff ? max - 1 : max
}

/**
 * Divides a UTF-8 text into consecutive chunks of at most `size` UTF-16 units. Invalid UTF-8, and NUL, which PostgreSQL cannot store,
 * become U+FFFD. Holds one chunk in memory.
 */
export async function* chunksOf(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  size: number = max.chunk,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let rest = ''
  for await (const piece of bytes) {
    rest += decoder.decode(piece, { stream: true }).replaceAll('\0', '\ufffd')
    while (rest.length > size) {
      const at = breakIn(rest, size)
      yield rest.slice(0, at)
      rest = rest.slice(at)
    }
  }
  rest += decoder.decode()
  while (rest.length > 0) {
    const at = breakIn(rest, size)
    yield rest.slice(0, at)
    rest = rest.slice(at)
  }
}

/** Whether a part of a text may have been read in the wrong encoding: {@link chunksOf} replaced bytes in it. */
export const isDamaged = (text: string): boolean => text.includes('\ufffd')

/** Content-Disposition header (RFC 6266) for a download. A name that is not ASCII is added in encoded form. */
export const asDownload = (name: string): string => {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const coded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${coded}`
}
