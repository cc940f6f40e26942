import { type Recognise, withNames } from './analyzer.ts'
import { type FieldFindings, fieldTexts, personalWarnings } from './fields.ts'

/** Warning if the configured analyzer did not answer. */
const namesMissing =
  'The text was not checked for names and postal addresses of people, because the connected analyzer did not answer.'

/** A scanned value with its findings and warnings. */
export interface Warned {
  value: unknown
  found: readonly FieldFindings[]
  warnings: readonly string[]
}
const keyOf = ({ path }: Pick<FieldFindings, 'path'>): string => JSON.stringify(path)

/**
 * Returns the warnings of each item, including the analyzer's findings. Never throws. Takes no longer than one analyzer request, however
 * many items there are; without an analyzer nothing is requested. Do not call it within a transaction: it waits for another server.
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
    const reported = own.filter((place) => place.findings.length > 0)
    const again = new Set(reported.map(keyOf))
    const retained = found.filter((field) => field.isKey || !again.has(keyOf(field)))
    const before = new Set(personalWarnings(found))
    return [
      ...warnings.filter((warning) => !before.has(warning)),
      ...personalWarnings([...retained, ...reported]),
      ...(own.some(({ isMissing }) => isMissing) ? [namesMissing] : []),
    ]
  })
}
