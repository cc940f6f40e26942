import { looksLikeAPersonsName } from '#lib/domains/pii/person-names.ts'
import { findPersonalData } from '#lib/domains/pii/personal-data.ts'
import type { Entity } from '#lib/stores/graph/graph.ts'

/** A project's mapping of graph labels. An entity without another label has the label `Entity`. */
export type EntityKinds = Readonly<Record<string, 'person' | 'business'>>

const personal = new Set(['Person', 'Contact'])
const business = new Set(['Company', 'FinancialMetric', 'Deal', 'Document', 'Finding', 'Risk'])

/** Whether an entity is personal, and why. Evidence: `label:Person`, `attribute:pii`, `pattern:email`, `mapping:Investor`, `label:none`. */
export interface EntityKind {
  isPersonal: boolean
  /** The entity represents a person, so its name is a person's name. False for a company with an address in its summary. */
  isPerson: boolean
  evidence: string[]
}

/** All strings and numbers in attributes, at any depth. */
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
 * Classifies an entity as personal by its label, by the attribute `pii`, or by personal data in its name, summary or attributes. An entity
 * without a known label is personal unless the project's mapping says `business` (fail closed: Graphiti labels people plain `Entity` when
 * no types are configured). A mapping cannot declare the label Person to be business.
 */
export function entityKindOf(
  { name, labels, summary, attributes }: Pick<Entity, 'name' | 'labels' | 'summary' | 'attributes'> & Partial<Entity>,
  kinds: EntityKinds,
): EntityKind {
  const own = labels.filter((label) => label !== 'Entity')
  const named = own.length === 0 ? ['Entity'] : own
  const mapped = (label: string) => (Object.hasOwn(kinds, label) ? kinds[label] : undefined)
  const person = [
    ...own.filter((label) => personal.has(label)).map((label) => `label:${label}`),
    ...named.filter((label) => mapped(label) === 'person').map((label) => `mapping:${label}`),
    ...(attributes.pii === true || attributes.pii === 'true' ? ['attribute:pii'] : []),
  ]
  const isKnown = named.some((label) => business.has(label) || mapped(label) === 'business')
  // A model wrote the summary. If a business entity has personal data there, the summary is emptied and the entity is not personal.
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
