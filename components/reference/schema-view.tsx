import { boundsOf, type ShownSchema, typeOf } from './document.ts'
import { schemaText } from './schema-text.ts'

/** Description and bounds of one parameter. */
export function Notes({ schema }: { schema: ShownSchema }) {
  const bounds = boundsOf(schema)
  if (bounds.length === 0 && !schema.description) return null
  return (
    <p className="text-sm text-quiet" lang="en">
      {[schema.description, bounds.join(', ')].filter(Boolean).join(' · ')}
    </p>
  )
}

interface SchemaViewProps {
  title: string
  schema: ShownSchema
  schemas: Readonly<Record<string, ShownSchema>>
}

/** A request or response body, collapsed. */
export const SchemaView = ({ title, schema, schemas }: SchemaViewProps) => (
  <details className="rounded-box border border-line bg-raised">
    <summary className="cursor-pointer px-3 py-2">
      {title} <code className="font-mono text-[0.8125rem] text-quiet">{typeOf(schema)}</code>
    </summary>
    <pre
      lang="en"
      className="border-t border-line px-3 py-3 font-mono text-[0.8125rem] whitespace-pre-wrap [overflow-wrap:anywhere]"
    >
      {schemaText(schema, schemas)
        .map(({ depth, code, note }) => {
          const indent = '  '.repeat(depth)
          return note ? `${indent}// ${note}\n${indent}${code}` : `${indent}${code}`
        })
        .join('\n')}
    </pre>
  </details>
)
