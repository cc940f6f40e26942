import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { idsOutsideNamespace } from './repository.ts'

/** The ids that the organization may not claim in connected stores. Empty for admins: their claim is its own approval. */
export async function outsideNamespace(
  tx: Transaction,
  actor: Actor,
  organisationId: string | undefined,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (actor.isAdmin || ids.length === 0) return new Set()
  const rows = await idsOutsideNamespace(tx, { organisation: organisationId ?? null, ids })
  return new Set(rows.map(({ id }) => id))
}

export const namespaceAdvice = (organisationId: string | undefined): string =>
  `Use an id that begins with ${organisationId ?? 'the organization’s id'}_, or ask an admin to assign a namespace.`
