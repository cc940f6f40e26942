import { type Recognise, withNames } from './analyzer.ts'
import { type FieldFindings, fieldTexts, personalWarnings } from './fields.ts'

/** Said where an analyzer is connected and did not answer. */
const namesMissing =
  'Whether names or postal addresses of people stand in it was not looked at: the analyzer that is connected for this did not answer.'

/** Something that was looked through: what was found in its texts, and the warnings that speak of it. */
export interface Warned {
  value: unknown
  found: readonly FieldFindings[]
  warnings: readonly string[]
}
const keyOf = ({ path }: Pick<FieldFindings, 'path'>): string => JSON.stringify(path)

/**
 * The warnings of each, with what a connected analyzer finds besides. Never throws, and takes no longer than one answer of the analyzer
 * may, however many there are; without one nobody is asked. Not to be called within a transaction: it waits for another server.
 */
export async function namesWarned(recognise: Recognise | undefined, items: readonly Warned[]): Promise<string[][]> {
  if (recognise === undefined) return items.map(({ warnings }) => [...warnings])
  const texts = items.flatMap(({ value, found }, item) => {
    const known = new Map(found.filter(({ isKey }) => !isKey).map((field) => [keyOf(field), field.findings]))
    return fieldTexts(value).map((field) => ({ ...field, item, ours: known.get(keyOf(field)) ?? [] }))
  })
  const { findings, missing } = await withNames(
    recognise,
    texts.map(({ text }) => text),
    texts.map(({ ours }) => ours),
  )
  const places = texts.map((field, at) => ({ ...field, isMissing: missing.has(at), findings: findings[at] ?? [] }))
  return items.map(({ found, warnings }, item) => {
    const own = places.filter((place) => place.item === item)
    const told = own.filter((place) => place.findings.length > 0)
    const again = new Set(told.map(keyOf))
    const kept = found.filter((field) => field.isKey || !again.has(keyOf(field)))
    const before = new Set(personalWarnings(found))
    return [
      ...warnings.filter((warning) => !before.has(warning)),
      ...personalWarnings([...kept, ...told]),
      ...(own.some(({ isMissing }) => isMissing) ? [namesMissing] : []),
    ]
  })
}
