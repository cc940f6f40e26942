import type { ErasedRunMatch } from '#lib/kernel/data-source.ts'
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
  return [...forms, ...named].some((needle) => buffer.includes(needle))
}

const escapes = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/g
const escaped: Readonly<Record<string, string>> = { b: ' ', f: ' ', n: '\n', r: '\r', t: '\t' }
/** A text without one level of JSON escapes, and for each of its characters its offset in the original; the last offset is the end. */
function unescaped(text: string): { text: string; offsets: number[] } {
  const offsets: number[] = []
  let plain = ''
  let from = 0
  const copy = (until: number) => {
    plain += text.slice(from, until)
    for (; from < until; from++) offsets.push(from)
  }
  for (const { 0: found, 1: code, 2: letter = '', index } of text.matchAll(escapes)) {
    copy(index)
    plain += code === undefined ? (escaped[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16))
    offsets.push(index)
    from = index + found.length
  }
  copy(text.length)
  offsets.push(text.length)
  return { text: plain, offsets }
}

/** Runs in a text, and in the text without one and two levels of JSON escapes, as in the arguments of a tool call. */
export function runsWithin(text: string, runsIn: (text: string) => readonly ErasedRunMatch[]): ErasedRunMatch[] {
  const found = [...runsIn(text)]
  let plain = text
  let offsets: number[] | undefined
  for (let level = 0; level < 2 && plain.includes('\\'); level++) {
    const next = unescaped(plain)
    const known = offsets
    const at: number[] = known === undefined ? next.offsets : next.offsets.map((offset) => known[offset] ?? 0)
    for (const { run, start, end } of runsIn(next.text))
      found.push({ run, start: at[start] ?? 0, end: at[end] ?? text.length })
    plain = next.text
    offsets = at
  }
  return found
}
/** A text without these runs, which may overlap. */
export function withoutRuns(text: string, runs: readonly ErasedRunMatch[]): string {
  let rest = ''
  let from = 0
  for (const { start, end } of [...runs].sort((one, other) => one.start - other.start)) {
    if (start >= from) rest += text.slice(from, start) + placeholder
    from = Math.max(from, end)
  }
  return rest + text.slice(from)
}
