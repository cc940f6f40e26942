import { accountHolder, sessionHolder, signInHolder } from '#lib/domains/accounts/holders.ts'
import { identityHolder, linkHolder } from '#lib/domains/accounts/link-holders.ts'
import { dropOrganisationIfEmpty } from '#lib/domains/accounts/service.ts'
import { agentHolder } from '#lib/domains/agents/holders.ts'
import { heldAuthors } from '#lib/domains/knowledge/held-authors.ts'
import { tokenHolder } from '#lib/domains/tokens/holders.ts'
import type { Domain, Parts } from './domain.ts'

/** Identities of people and agents. All other data is found through them, so they are erased last. */
export function identity(parts: Parts) {
  const { db, gate } = parts
  return {
    // Last, because all other data is found through identities.
    identity: {
      offers: {},
      holders: [
        tokenHolder(db, gate),
        agentHolder(db, { heldAuthors, dropOrganisationIfEmpty }),
        sessionHolder(db),
        signInHolder(db),
        linkHolder(db),
        identityHolder(db),
        accountHolder(db),
      ],
    },
  } satisfies Record<string, Domain>
}
