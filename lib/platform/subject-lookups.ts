import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { profileOf } from '#lib/domains/agents/queries.ts'
import type { suppressions } from '#lib/domains/erasure/suppression/suppressions.ts'
import type { ErasedAgents } from '#lib/domains/knowledge/erasure/suppression.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Short queries about agents and accounts that several domains need. */
export function subjectLookups(db: Database, suppressed: ReturnType<typeof suppressions>) {
  const erasedAgents: ErasedAgents = async ({ isAdmin, organisationId }, ids, tx = db.prisma) => {
    if (isAdmin) return suppressed.among(tx, 'agent', ids)
    return organisationId === undefined ? [] : suppressed.amongMembers(tx, organisationId, ids)
  }
  return {
    erasedAgents,
    /** Whether the agent belongs to another organization, or was erased. False for admins. */
    async isOfOthers({ isAdmin, organisationId }: Actor, id: string): Promise<boolean> {
      if (isAdmin) return false
      const agent = await profileOf(db)(id)
      const isErased = (await suppressed.among(db.prisma, 'agent', [id])).length > 0
      return isErased || (agent !== null && agent.organisationId !== organisationId)
    },
    /** Name and email address of an account's person. */
    async namesOf(tx: Transaction | undefined, accountId: string): Promise<string[]> {
      const found = await accountDirectory.contactOf(tx ?? db.prisma, accountId)
      return found ? [found.name, found.email] : []
    },
    /** Which names an erasure may remove from texts of others. */
    heldNames: {
      since: accountDirectory.namesHeldSince,
      isBorneByOthers: accountDirectory.isBorneByOthers,
    },
  }
}
