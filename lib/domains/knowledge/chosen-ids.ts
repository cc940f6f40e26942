import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { canBeGuessed, chosenPart } from './guessable-ids.ts'
import { idsOfOrganisation } from './repository.ts'

export interface ChosenIdPorts {
  /** Of these ids, those outside the namespaces of the organization. Empty for admins. */
  outsideNamespace(
    tx: Transaction,
    actor: Actor,
    organisationId: string,
    ids: readonly string[],
  ): Promise<ReadonlySet<string>>
  /** Of these ids, those of erased records that one of the agents owned. */
  erasedOf(tx: Transaction, ids: readonly string[], owners: readonly string[]): Promise<readonly string[]>
}
/** Whose ids are checked: the organization of a contributing agent. */
interface Contributing {
  actor: Actor
  organisationId: string
}

export const unitIdInUse = 'A unit with this id already exists. Nothing was changed. Omit the id to get a new one.'
export const idErased = 'A unit with this id was erased. The id cannot be used again.'

/** Why a chosen id is refused before it is compared with the records of other organizations. */
export type IdRefusal = 'guessable' | 'in use' | 'erased'

export const idGuessable =
  'The id can be guessed, so another organization could block it, or learn that you use it. Omit the id to get a new one, include a UUID in it, or ask an admin to assign a prefix to your organization.'

export function idProblem(refusal: IdRefusal): Problem {
  if (refusal === 'in use') return new Problem('id_in_use', unitIdInUse)
  if (refusal === 'erased') return new Problem('erased', idErased)
  const issue = { path: ['id'], message: 'can be guessed; use a UUID, or 20 random letters and digits' }
  return new Problem('invalid', { detail: idGuessable, issues: [issue] })
}

/**
 * Of ids that clients chose, those that can be guessed and are outside the namespaces of the contributor's organization. They are refused
 * before they are compared with the records of others: otherwise the answer would reveal the ids of other organizations, and one
 * organization could block the ids of another one. Ids that the organization itself uses or erased are marked as such.
 */
export async function refusedIds(
  { outsideNamespace, erasedOf }: ChosenIdPorts,
  tx: Transaction,
  { actor, organisationId }: Contributing,
  ids: readonly string[],
  table: 'units' | 'skills' = 'units',
): Promise<Map<string, IdRefusal>> {
  const candidates = ids.filter(canBeGuessed)
  if (candidates.length === 0) return new Map()
  const outside = await outsideNamespace(tx, actor, organisationId, candidates.map(chosenPart))
  const refused = candidates.filter((id) => outside.has(chosenPart(id)))
  if (refused.length === 0) return new Map()
  const own = await idsOfOrganisation(tx, { ids: refused, organisation: organisationId }, table)
  const erased = await erasedOf(tx, refused, actor.agents)
  return new Map<string, IdRefusal>([
    ...refused.map((id) => [id, 'guessable'] as const),
    ...own.map(({ id }) => [id, 'in use'] as const),
    ...erased.map((id) => [id, 'erased'] as const),
  ])
}
