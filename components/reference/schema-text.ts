import { boundsOf, type ShownSchema, typeOf } from './document.ts'

/** One line of a schema as text: `name: string`, with its description and bounds. */
export interface SchemaLine {
  depth: number
  code: string
  note: string
}
interface Written {
  schema: ShownSchema
  depth: number
  before?: string
  after?: string
  note?: string
  /** Names of the enclosing schemas: a recursive schema is named but not expanded again. */
  above?: readonly string[]
}

const noteOf = (schema: ShownSchema): string =>
  [schema.description, boundsOf(schema).join(', ')].filter(Boolean).join(' · ')

/**
 * A schema as lines in the notation of TypeScript.
 * Text instead of nested elements keeps a page of the reference small: schemas repeat in many operations.
 */
export function schemaText(schema: ShownSchema, schemas: Readonly<Record<string, ShownSchema>>): SchemaLine[] {
  const lines: SchemaLine[] = []
  const push = (depth: number, code: string, note = '') => lines.push({ depth, code, note })

  const writeAlternatives = ({ schema: one, depth, before = '', after = '', note, above = [] }: Written) => {
    const all = one.anyOf ?? one.oneOf ?? one.allOf ?? []
    const shown = all.filter(({ type }) => type !== 'null')
    const end = `${shown.length < all.length ? ' | null' : ''}${after}`
    const sign = one.allOf ? '&' : '|'
    for (const [index, alternative] of shown.entries())
      write({
        schema: alternative,
        depth,
        before: index === 0 ? before : `${sign} `,
        after: index === shown.length - 1 ? end : '',
        ...(index === 0 && note !== undefined && { note }),
        above,
      })
  }
  const writeFields = ({ schema: one, depth, before = '', after = '', note, above = [] }: Written) => {
    push(depth, `${before}{`, note)
    for (const [field, value] of Object.entries(one.properties ?? {})) {
      const mark = one.required?.includes(field) ? '' : '?'
      write({ schema: value, depth: depth + 1, before: `${field}${mark}: `, note: noteOf(value), above })
    }
    if (typeof one.additionalProperties === 'object')
      write({ schema: one.additionalProperties, depth: depth + 1, before: '[key]: ', above })
    push(depth, `}${after}`)
  }
  const write = (written: Written): void => {
    const { schema: one, depth, before = '', after = '', note, above = [] } = written
    const name = one.$ref === undefined ? undefined : typeOf(one)
    const named = name === undefined || above.includes(name) ? undefined : schemas[name]
    if (name !== undefined && named) write({ ...written, schema: named, above: [...above, name] })
    else if (name !== undefined || !isExpanded(one)) push(depth, `${before}${typeOf(one)}${after}`, note)
    else if (one.items) write({ ...written, schema: one.items, after: `[]${after}` })
    else if (one.properties || typeof one.additionalProperties === 'object') writeFields(written)
    else writeAlternatives(written)
  }
  const isExpanded = (one: ShownSchema): boolean => {
    if (one.$ref !== undefined) return true
    if (one.properties || typeof one.additionalProperties === 'object') return true
    if (one.items) return isExpanded(one.items)
    return (one.anyOf ?? one.oneOf ?? one.allOf ?? []).some(isExpanded)
  }
  write({ schema, depth: 0, note: noteOf(schema) })
  return lines
}
