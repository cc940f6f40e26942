import { isConstructed, isPlainObject, type JsonObject } from './messages.ts'
import { placeholder } from './search-strings.ts'

const human = /^(human|user|HumanMessageChunk)$/
/** A human message in its notation, without everything that it said. */
export function emptiedMessage(record: JsonObject, id: string): JsonObject | undefined {
  const inner = isPlainObject(record.kwargs) ? 'kwargs' : isPlainObject(record.data) ? 'data' : undefined
  const fields = inner === undefined ? record : record[inner]
  if (!isPlainObject(fields)) return undefined
  const isHuman = [record.type, record.role, fields.type, fields.role].some(
    (said) => typeof said === 'string' && human.test(said),
  )
  if (!isHuman && !isConstructed(record, /^HumanMessage(Chunk)?$/)) return undefined
  const kept = Object.entries(fields).flatMap(([key, value]): [string, unknown][] => {
    if (key === 'type' || key === 'role') return [[key, value]]
    if (key === 'content') return [[key, placeholder]]
    if (key === 'id') return [[key, id]]
    return key === 'additional_kwargs' || key === 'response_metadata' ? [[key, {}]] : []
  })
  const made = Object.fromEntries(kept)
  return inner === undefined ? made : { ...record, [inner]: made }
}
