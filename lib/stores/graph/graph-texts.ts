import type { GraphText } from './graph.ts'

/** All strings in a property, including keys, one per line; empty if it contains none. */
function textIn(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null || value instanceof Date) return ''
  const isList = Array.isArray(value)
  return Object.entries(value)
    .flatMap(([key, inner]) => [...(isList ? [] : [key]), textIn(inner)])
    .filter((text) => text !== '')
    .join('\n')
}

/** The texts of a record. `fields` are the known properties, by field name; `attributes` are all others. */
export function graphTextsOf(
  kind: GraphText['kind'],
  id: string,
  fields: Readonly<Record<string, unknown>>,
  attributes: Readonly<Record<string, unknown>> = {},
): GraphText[] {
  const found: GraphText[] = []
  const add = (field: string, text: string) => {
    if (text !== '') found.push({ kind, id, field, text })
  }
  for (const [field, value] of Object.entries(fields)) add(field, textIn(value))
  for (const [key, value] of Object.entries(attributes)) {
    const text = textIn(value)
    add(`attributes.${key}`, text === '' ? '' : `${key}\n${text}`)
  }
  return found
}
