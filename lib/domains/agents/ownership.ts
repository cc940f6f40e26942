import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { claimAgent } from './contract.ts'
import type { AgentPorts } from './ports.ts'
import { agentOf } from './rows.ts'
import { sharedAgentStatus } from './status.ts'

/** Claiming: a person becomes the owner of an agent by presenting its token. */
export function agentOwnership({
  tokens,
  ownerFound,
  dropOrganisationIfEmpty,
  ...owners
}: Pick<AgentPorts, 'tokens' | 'ownerFound' | 'dropOrganisationIfEmpty' | 'accounts' | 'graceTokens'>) {
  return {
    claim: mutation(claimAgent, async ({ tx, actor, now }, { body }) => {
      const { accountId, organisationId } = actor
      if (accountId === undefined || organisationId === undefined) throw new Problem('sign_in_needed')
      const bearer = await tokens.bearerOf(tx, body.token, now)
      const agent = bearer && (await agentOf(tx, bearer.agentId, { lock: true }))
      // Unknown, mistyped, expired, revoked and suspended tokens get the same answer, so that guessing reveals nothing.
      if (!agent || agent.suspendedAt)
        throw new Problem('not_found', 'No agent has this token. Check that the token is complete and still valid.')
      const done = (changed: boolean) => ({
        body: { data: { agent_id: agent.id, name: agent.name } },
        resourceId: agent.id,
        details: { fields: changed ? ['owner', 'organisation'] : [] },
      })
      if (agent.ownerId === accountId) return done(false)
      if (agent.ownerId !== null) throw new Problem('conflict', 'Another person already owns this agent.')
      const lacking = (await tokens.scopesInUse(tx, agent.id, now)).find((scope) => !bearer.scopes.includes(scope))
      if (lacking)
        throw new Problem(
          'forbidden',
          `This token lacks the scope "${lacking}", which another token of this agent has. Claim the agent with that token.`,
        )
      // The agent's contributions follow by their foreign key.
      await tx.agent.update({
        where: { id: agent.id },
        data: {
          ...{ ownerId: accountId, organisationId, network: null, sharesWindow: false },
          ...(await sharedAgentStatus(tx, owners, accountId, agent, now)),
        },
      })
      await ownerFound(tx, agent.id, accountId, now)
      if (agent.organisationId !== organisationId) await dropOrganisationIfEmpty(tx, agent.organisationId)
      return done(true)
    }),
  }
}
