import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Unit } from './unit.ts'

/** Those of the ids of agents that were erased here, found by keyed hashes. Inside a transaction it needs no second connection. */
export type IsSuppressed = (kind: 'agent', values: readonly string[], tx?: Transaction) => Promise<readonly string[]>

/** What stands in the place of an erased agent's name in somebody else's record: one-way, the same for the same name. */
export type PseudonymOf = (value: string) => string

export const namesErased = 'It names somebody who was erased here. Nothing was stored.'

/** Where a unit names somebody beside its author: its expert, and those who validated it. */
const namedIn = (unit: Unit): { path: (string | number)[]; name: string }[] => [
  ...(unit['@type'] === 'ExpertSOP' ? [{ path: ['source', 'expert_id'], name: unit.source.expert_id }] : []),
  ...(unit.metadata.validated_by ?? []).map((name, index) => ({ path: ['metadata', 'validated_by', index], name })),
]

/** Who contributes what, and which names stood there before: those are not brought back, they are there. */
interface Contribution {
  author: string
  before?: readonly string[]
  tx?: Transaction
}
const refuse = async (
  isSuppressed: IsSuppressed,
  named: readonly { path: (string | number)[]; name: string }[],
  { author, before = [], tx }: Contribution,
): Promise<void> => {
  const foreign = named.filter(({ name }) => name !== author && !before.includes(name))
  if (foreign.length === 0) return
  const gone = new Set(await isSuppressed('agent', [...new Set(foreign.map(({ name }) => name))], tx))
  const issues = foreign.filter(({ name }) => gone.has(name)).map(({ path }) => ({ path, message: 'was erased here' }))
  if (issues.length > 0) throw new Problem('erased', { detail: namesErased, issues: issues.slice(0, 20) })
}

/** Throws `erased`, with the fields, where a unit of this author names somebody who was erased here. Asks nothing where it names nobody new. */
export const refuseErasedNames = (isSuppressed: IsSuppressed, unit: Unit, contribution: Contribution) =>
  refuse(isSuppressed, namedIn(unit), contribution)
export const namesIn = (unit: Unit): string[] => namedIn(unit).map(({ name }) => name)

/** The same for the author that a skill's front matter names. */
export const refuseErasedAuthor = (isSuppressed: IsSuppressed, name: string | null, contribution: Contribution) =>
  refuse(isSuppressed, name === null ? [] : [{ path: ['skill_md', 'author'], name }], contribution)

/** Everybody whom these units name beside their author. */
export const foreignNames = (units: readonly { document: Unit; author: string }[]): string[] => [
  ...new Set(
    units.flatMap(({ document, author }) => namedIn(document).flatMap(({ name }) => (name === author ? [] : [name]))),
  ),
]
/** Those of the units that name one of them. */
export const namesAny = (unit: { document: Unit; author: string }, gone: ReadonlySet<string>): boolean =>
  namedIn(unit.document).some(({ name }) => name !== unit.author && gone.has(name))

/** A document with other names in its references; itself where none changes. */
export function renamed(document: Unit, to: (name: string) => string): Unit {
  const { metadata } = document
  const validators = metadata.validated_by?.map(to)
  const isSame = validators?.every((name, index) => name === metadata.validated_by?.[index]) ?? true
  const judged = isSame || !validators ? document : { ...document, metadata: { ...metadata, validated_by: validators } }
  if (judged['@type'] !== 'ExpertSOP') return judged
  const expert = to(judged.source.expert_id)
  return expert === judged.source.expert_id ? judged : { ...judged, source: { ...judged.source, expert_id: expert } }
}
