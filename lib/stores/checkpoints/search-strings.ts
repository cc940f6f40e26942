import type { ErasedRunMatch } from '#lib/kernel/data-source.ts'
import { areInKeys, editText, viewsOf } from '#lib/text/views.ts'
import { runWeight, tokenize } from '#lib/text/words.ts'
import { leastId, leastText, type ThreadSearchTerms } from './checkpoints.ts'

/** Replaces removed words. Not empty, because some models reject a message without content. */
export const placeholder = '[erased]'

const asJson = (text: string): string => JSON.stringify(text).slice(1, -1)
/** The default encoding of Python's json.dumps. */
const asAscii = (json: string): string =>
  json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/**
 * The forms in which a text may occur inside a string: unescaped, and escaped once or twice, as in the arguments of a tool call. Longest
 * first.
 */
export function formsOf(text: string): string[] {
  const once = asJson(text)
  const forms = [text, once, asAscii(once), asJson(once), asJson(asAscii(once))]
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}
/** Identifiers of the libraries, which every thread contains: `completion_tokens_details`, `langchain_core.messages.human`. */
const isMachines = (text: string): boolean => /^[A-Za-z_.:-]+$/.test(text)
/** The distinct texts that are long enough, without surrounding white space. */
export const distinctiveTexts = ({ texts }: Pick<ThreadSearchTerms, 'texts'>): string[] => [
  ...new Set(texts.map((text) => text.trim()).filter((text) => text.length >= leastText && !isMachines(text))),
]
export const isDistinctiveText = (id: string): boolean => id.length >= leastId && /\d/.test(id)
const generated = /^([a-z]{2,8}_[0-9A-Za-z]{22}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i
/** Whether the id has a form that no word has: `thread_` and 22 characters, or a UUID. It does not tell who generated it. */
export const isGenerated = (id: string): boolean => generated.test(id)

/** Characters that, next to an id, make it part of another id. */
const beside = '[A-Za-z0-9_-]'
const literally = (id: string): string => id.replace(/[^\p{L}\p{N}_]/gu, '\\$&')
const alone = (id: string): RegExp => new RegExp(`(?<!${beside})${RegExp.escape(id)}(?!${beside})`, 'g')
/** Whether a text contains an id as a separate word: `about-msg_1` does not contain `msg_1`. */
export const isNaming = (text: string, id: string): boolean => text.includes(id) && alone(id).test(text)
export const withoutId = (text: string, id: string): string =>
  text.includes(id) ? text.replace(alone(id), () => placeholder) : text
export const beforeId = '(^|[^A-Za-z0-9_-])'
/** The same check for PostgreSQL's `~`. */
export const namingPattern = (id: string): string => `${beforeId}${literally(id)}($|[^A-Za-z0-9_-])`

/** `id` with this value in MessagePack, for ids that are too short to be searched without context. */
const packed = (id: string): Buffer => {
  const bytes = Buffer.from(id)
  return Buffer.concat([Buffer.from([0xa2, 0x69, 0x64, 0xa0 | bytes.length]), bytes])
}
/** Whether undecoded bytes contain one of the ids (of messages or tool calls) or one of the forms of the texts. */
export function holdsAny(
  bytes: Uint8Array,
  { ids, calls = [], forms }: { ids: Iterable<string>; calls?: Iterable<string>; forms: readonly string[] },
): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const named = [...ids, ...calls].map((id) => (isDistinctiveText(id) ? id : packed(id)))
  return [...forms, ...named].some((searchString) => buffer.includes(searchString))
}

/**
 * A text without these runs, in whatever encoding they were found. Undefined if they cannot be cut out of it, or if the name of a property
 * contains more than a name: its value is derived from these words.
 */
export function withoutRuns(text: string, runsIn: (text: string) => readonly ErasedRunMatch[]): string | undefined {
  const layers = viewsOf(text).layers
  const isRun = ({ start, end, view }: ErasedRunMatch): boolean => {
    const found = view ? layers[view.depth - 1]?.text.slice(view.start, view.end) : text.slice(start, end)
    return tokenize(found ?? '').reduce((sum, { weight }) => sum + weight, 0) >= runWeight
  }
  if (areInKeys(text, runsIn(text).filter(isRun))) return undefined
  return editText(text, runsIn, placeholder)
}
