import { leastId, leastText, type Wanted } from './checkpoints.ts'

/** Stands where words were cut out. Not empty: some models refuse a message without content. */
export const placeholder = '[erased]'

const asJson = (text: string): string => JSON.stringify(text).slice(1, -1)
/** As Python's json.dumps writes it unless told otherwise. */
const asAscii = (json: string): string =>
  json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** How a text may stand inside a string: as it is, and escaped once or twice, as in the arguments of a tool call. Longest first. */
export function formsOf(text: string): string[] {
  const once = asJson(text)
  const forms = [text, once, asAscii(once), asJson(once), asJson(asAscii(once))]
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}
/** `completion_tokens_details`, `langchain_core.messages.human`: words of the libraries, which every thread holds. */
const isMachines = (text: string): boolean => /^[A-Za-z_.:-]+$/.test(text)
/** The texts that are long enough, each once, without the white space around them. */
export const tellingTexts = ({ texts }: Pick<Wanted, 'texts'>): string[] => [
  ...new Set(texts.map((text) => text.trim()).filter((text) => text.length >= leastText && !isMachines(text))),
]
export const isTelling = (id: string): boolean => id.length >= leastId && /\d/.test(id)
const generated = /^([a-z]{2,8}_[0-9A-Za-z]{22}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i
/** Of a form that no word has: `thread_` and 22 characters, or a UUID. Says nothing of who made it. */
export const isGenerated = (id: string): boolean => generated.test(id)

/** What may stand beside an id without making another id of it. */
const beside = '[A-Za-z0-9_-]'
const literally = (id: string): string => id.replace(/[^\p{L}\p{N}_]/gu, '\\$&')
const alone = (id: string): RegExp => new RegExp(`(?<!${beside})${RegExp.escape(id)}(?!${beside})`, 'g')
/** Whether an id stands in a text as a word of its own: `msg_1` does not stand in `about-msg_1`. */
export const isNaming = (text: string, id: string): boolean => text.includes(id) && alone(id).test(text)
export const withoutId = (text: string, id: string): string =>
  text.includes(id) ? text.replace(alone(id), () => placeholder) : text
/** The same question for PostgreSQL's `~`. */
export const namingPattern = (id: string): string => `(^|[^A-Za-z0-9_-])${literally(id)}($|[^A-Za-z0-9_-])`

/** `id` with this value as MessagePack writes it, for ids that are too short to look for by themselves. */
const packed = (id: string): Buffer => {
  const bytes = Buffer.from(id)
  return Buffer.concat([Buffer.from([0xa2, 0x69, 0x64, 0xa0 | bytes.length]), bytes])
}
/** Whether bytes that nobody decodes hold one of the ids, of messages or of tool calls, or one of the forms of the texts. */
export function holdsAny(
  bytes: Uint8Array,
  { ids, calls = [], forms }: { ids: Iterable<string>; calls?: Iterable<string>; forms: readonly string[] },
): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const named = [...ids, ...calls].map((id) => (isTelling(id) ? id : packed(id)))
  return [...forms, ...named].some((needle) => buffer.includes(needle))
}
