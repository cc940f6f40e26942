import type { Transaction } from '#lib/kernel/context.ts'
import type { Unit } from './unit.ts'

/** Those of the ids of agents that were erased here, found by keyed hashes. Inside a transaction it needs no second connection. */
export type IsSuppressed = (kind: 'agent', values: readonly string[], tx?: Transaction) => Promise<readonly string[]>

/** The replacement for an erased agent's name in another author's record: one-way, and the same for the same name. */
export type PseudonymOf = (value: string) => string

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
