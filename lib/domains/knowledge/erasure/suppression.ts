import { createHmac } from 'node:crypto'
import type { Unit } from '#lib/domains/knowledge/contract.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'

/**
 * Returns those agent ids that were erased while they belonged to the actor's organization, found by keyed hashes. An admin gets all erased
 * ids. Pass `tx` inside a transaction to avoid a second connection.
 */
export type ErasedAgents = (actor: Actor, ids: readonly string[], tx?: Transaction) => Promise<readonly string[]>

/** Returns the one-way pseudonym that replaces an erased agent's name in other authors' records. */
export type AuthorPseudonym = (value: string) => string

/** Renames references in a document; returns the same object if none changes. */
export function renamed(document: Unit, to: (name: string) => string): Unit {
  const { metadata } = document
  const validators = metadata.validated_by?.map(to)
  const isSame = validators?.every((name, index) => name === metadata.validated_by?.[index]) ?? true
  const decided =
    isSame || !validators ? document : { ...document, metadata: { ...metadata, validated_by: validators } }
  if (decided['@type'] !== 'ExpertSOP') return decided
  const expert = to(decided.source.expert_id)
  return expert === decided.source.expert_id
    ? decided
    : { ...decided, source: { ...decided.source, expert_id: expert } }
}

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const length = 12

/**
 * One-way pseudonyms for erased names in others' records: `erased-` and 12 base62 digits (71 bits) of an HMAC-SHA256. Equal names get equal
 * pseudonyms, so two traces of one agent stay linked. Without the key, names cannot be tested against them.
 */
export const authorPseudonyms =
  (key: () => Uint8Array): AuthorPseudonym =>
  (value) => {
    let rest = BigInt(`0x${createHmac('sha256', key()).update(value).digest('hex')}`)
    let text = ''
    for (let n = 0; n < length; n++) {
      text += digits[Number(rest % 62n)]
      rest /= 62n
    }
    return `erased-${text}`
  }
