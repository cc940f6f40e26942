export type JsonObject = Record<string, unknown>

export const isPlainObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The relevant fields of a serialised message. */
export interface MessageFacts {
  id: string | undefined
  /** Its words: the content, or the content's text blocks. */
  text: string
  /** Written by a person, not by a model or a tool. */
  isHuman: boolean
  /** Ids of the tool calls that it makes, and of those that it answers. */
  calls: string[]
  answers: string[]
}

const roles = new Set([
  'human',
  'user',
  'ai',
  'assistant',
  'system',
  'developer',
  'tool',
  'function',
  'chat',
  'HumanMessageChunk',
  'AIMessageChunk',
  'SystemMessageChunk',
  'ToolMessageChunk',
  'FunctionMessageChunk',
])
const people = new Set(['human', 'user', 'HumanMessageChunk'])
const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isPlainObject) : [])
const strings = (values: readonly unknown[]): string[] => values.filter((value) => typeof value === 'string')

/**
 * Whether it is a record of LangChain's `Serializable.toJSON` (lc 1) or of Python's JsonPlus (lc 2), of a class whose name matches
 * `name`.
 */
export const isConstructed = (value: JsonObject, name: RegExp): boolean =>
  (value.lc === 1 || value.lc === 2) &&
  value.type === 'constructor' &&
  Array.isArray(value.id) &&
  name.test(String(value.id.at(-1)))

/** The fields of a message in any notation: constructed, `{type, data}`, or the input format of chat models. */
function fieldsOf(value: JsonObject): JsonObject | undefined {
  if (isConstructed(value, /Message(Chunk)?$/)) return isPlainObject(value.kwargs) ? value.kwargs : undefined
  const { type, role, data } = value
  const isOfRole = (said: unknown) => typeof said === 'string' && roles.has(said)
  if (isPlainObject(data) && isOfRole(type) && 'content' in data) return data
  if ('content' in value && (isOfRole(role) || isOfRole(type))) return value
  return type === 'remove' && typeof value.id === 'string' ? value : undefined
}

/** Undefined if the value is not a message. */
export function messageIn(value: JsonObject): MessageFacts | undefined {
  const fields = fieldsOf(value)
  if (!fields) return undefined
  const { id, content, additional_kwargs: more } = fields
  const blocks = objects(content)
  const made = [
    fields.tool_calls,
    fields.invalid_tool_calls,
    fields.tool_call_chunks,
    isPlainObject(more) ? more.tool_calls : [],
  ]
  const used = blocks.filter(({ type }) => type === 'tool_use' || type === 'tool_call')
  return {
    id: typeof id === 'string' ? id : undefined,
    isHuman:
      isConstructed(value, /^HumanMessage(Chunk)?$/) ||
      [value.type, value.role, fields.type, fields.role].some((said) => typeof said === 'string' && people.has(said)),
    text: typeof content === 'string' ? content : strings(blocks.map(({ text }) => text)).join('\n'),
    calls: strings([...made.flatMap(objects), ...used].map((call) => call.id)),
    answers: strings([fields.tool_call_id, ...blocks.map(({ tool_use_id: called }) => called)]),
  }
}

/** The text of `['user', 'words']`, which LangChain also accepts as a message. */
export const wordsOfPair = (value: readonly unknown[]): string | undefined => {
  const [role, text] = value
  return value.length === 2 && typeof role === 'string' && roles.has(role) && typeof text === 'string'
    ? text
    : undefined
}
