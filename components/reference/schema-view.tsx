import { useTranslations } from 'next-intl'
import { boundsOf, type ShownSchema, typeOf } from './document.ts'

interface SchemaViewProps {
  schema: ShownSchema
  schemas: Record<string, ShownSchema>
  /** Names of the enclosing schemas: a recursive schema is named but not expanded again. */
  above?: readonly string[]
}

const nameOf = (schema: ShownSchema): string | undefined => schema.$ref?.slice(schema.$ref.lastIndexOf('/') + 1)

/** The contents of a schema: fields of an object, items of an array, or alternatives. */
function Within({ schema, schemas, above = [] }: SchemaViewProps) {
  const t = useTranslations('reference')
  const name = nameOf(schema)
  if (name !== undefined) {
    const named = schemas[name]
    if (!named || above.includes(name)) return null
    return <Within schema={named} schemas={schemas} above={[...above, name]} />
  }
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (choices) {
    const drawn = choices.filter((choice) => choice.type !== 'null')
    return drawn.map((choice) => (
      <div key={typeOf(choice) + (choice.description ?? '')} className="grid gap-1">
        {drawn.length > 1 && <p className="font-mono text-[0.8125rem] text-quiet">{typeOf(choice)}</p>}
        <Within schema={choice} schemas={schemas} above={above} />
      </div>
    ))
  }
  if (schema.items) return <Within schema={schema.items} schemas={schemas} above={above} />
  if (schema.properties)
    return (
      <ul className="grid gap-2 border-l border-line pl-4">
        {Object.entries(schema.properties).map(([field, value]) => (
          <li key={field} className="grid gap-0.5">
            <p className="text-[0.8125rem]">
              <code className="font-mono font-medium text-ink">{field}</code>{' '}
              <code className="font-mono text-quiet [overflow-wrap:anywhere]">{typeOf(value)}</code>
              {schema.required?.includes(field) && <span className="text-amber"> {t('required')}</span>}
            </p>
            <Notes schema={value} />
            <Within schema={value} schemas={schemas} above={above} />
          </li>
        ))}
      </ul>
    )
  if (typeof schema.additionalProperties === 'object')
    return <Within schema={schema.additionalProperties} schemas={schemas} above={above} />
  return null
}

/** Description and bounds of one value. */
export function Notes({ schema }: { schema: ShownSchema }) {
  const bounds = boundsOf(schema)
  if (bounds.length === 0 && !schema.description) return null
  return (
    <p className="text-sm text-quiet" lang="en">
      {schema.description}
      {schema.description && bounds.length > 0 && ' · '}
      {bounds.map((bound, index) => (
        <span key={bound}>
          {index > 0 && ', '}
          <code className="font-mono text-[0.8125rem] [overflow-wrap:anywhere]">{bound}</code>
        </span>
      ))}
    </p>
  )
}

/** A request or response body, collapsed. */
export function SchemaView({ title, schema, schemas }: SchemaViewProps & { title: string }) {
  return (
    <details className="group rounded-box border border-line bg-raised">
      <summary className="cursor-pointer px-3 py-2">
        {title} <code className="font-mono text-[0.8125rem] text-quiet">{typeOf(schema)}</code>
      </summary>
      <div className="grid gap-2 border-t border-line px-3 py-3">
        <Notes schema={schema} />
        <Within schema={schema} schemas={schemas} />
      </div>
    </details>
  )
}
