import { findPersonalData } from '#lib/domains/pii/personal-data.ts'
import { looksLikeAPersonsName } from '#lib/domains/pii/persons-name.ts'
import type { Entity } from '#lib/stores/graph/graph.ts'

/** What a project says of the labels of its graph. `Entity` is the label of those that have no other. */
export type EntityKinds = Readonly<Record<string, 'person' | 'business'>>

const personal = new Set(['Person', 'Contact'])
const business = new Set(['Company', 'FinancialMetric', 'Deal', 'Document', 'Finding', 'Risk'])

/** Why an entity counts as personal, or that it does not. Evidence: `label:Person`, `attribute:pii`, `pattern:email`, `mapping:Investor`, `label:none`. */
export interface Kind {
  isPersonal: boolean
  /** It stands for a person, so its name is one's; a company with an address in its summary does not. */
  isPerson: boolean
  evidence: string[]
}

/** Text in attributes, however deep. */
function* textsIn(value: unknown): Iterable<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'number') yield String(value)
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) yield key
      yield* textsIn(inner)
    }
}

/**
 * Whether an entity is personal data: by its label, by the attribute `pii`, by what stands in its name, summary or attributes; and where no
 * label is known, unless the project's mapping says otherwise (fail closed: Graphiti labels people plain `Entity` when no types are configured).
 * A mapping adds; that a Person is business it cannot say.
 */
export function kindOf({ name, labels, summary, attributes }: Entity, kinds: EntityKinds): Kind {
  const own = labels.filter((label) => label !== 'Entity')
  const named = own.length === 0 ? ['Entity'] : own
  const mapped = (label: string) => (Object.hasOwn(kinds, label) ? kinds[label] : undefined)
  const person = [
    ...own.filter((label) => personal.has(label)).map((label) => `label:${label}`),
    ...named.filter((label) => mapped(label) === 'person').map((label) => `mapping:${label}`),
    ...(attributes.pii === true || attributes.pii === 'true' ? ['attribute:pii'] : []),
  ]
  const isKnown = named.some((label) => business.has(label) || mapped(label) === 'business')
  // A model wrote the summary. Of a business entity, personal data there is emptied with the summary, and the entity is not personal.
  const generated = isKnown && person.length === 0 ? [] : [summary]
  const patterns = new Set(
    [name, ...generated, ...textsIn(attributes)].flatMap((text) =>
      findPersonalData(text).map(({ kind }) => `pattern:${kind}`),
    ),
  )
  const untyped =
    isKnown || person.length > 0 ? [] : [own.length === 0 ? 'label:none' : `label:${own.join('+')} unknown`]
  const evidence = [...person, ...[...patterns].sort(), ...untyped]
  const isCalledSo = untyped.length > 0 && looksLikeAPersonsName(name)
  const isTitled = findPersonalData(name, { kinds: ['titled_person'] }).length > 0
  return { isPersonal: evidence.length > 0, isPerson: person.length > 0 || isCalledSo || isTitled, evidence }
}
