import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { refuseOtherNotice } from '../consent.ts'
import { createOwnAgent } from '../own-contract.ts'
import type { AgentPorts } from '../ports.ts'
import { mostUnusedAgents } from '../rules.ts'
import { type IssuingPorts, issueAgent } from './issuing.ts'
import { lockCreation } from './repository.ts'

/** The advisory lock serializes concurrent requests of one person, so that the count is exact. */
async function refuseFlood(tx: Transaction, accountId: string): Promise<void> {
  await lockCreation(tx, { owner: accountId })
  const unused = await tx.agent.count({ where: { ownerId: accountId, firstUsedAt: null } })
  if (unused >= mostUnusedAgents)
    throw new Problem(
      'conflict',
      `${unused} of your agents were never used, so nothing was created. Use one of them, or delete the agents that you do not need.`,
    )
}

/** Creates agents that a person owns from the start, with explicit consent. */
export function agentCreation(ports: IssuingPorts & Pick<AgentPorts, 'tokens' | 'joinClade'>) {
  const { registration, tokens, accounts, joinClade } = ports
  return {
    createOwn: mutation(createOwnAgent, async ({ tx, actor, now }, { body }) => {
      const { accountId, organisationId } = actor
      if (accountId === undefined || organisationId === undefined) throw new Problem('sign_in_needed')
      refuseOtherNotice(body.consent.policy_version, registration.notice, ['consent', 'policy_version'])
      if (registration.mode === 'closed' && !actor.isAdmin)
        throw new Problem('registration_closed', 'Only admins of this installation can create agents. Ask an admin.')
      await refuseFlood(tx, accountId)
      const owner = await accounts.statusOf(tx, accountId)
      if (!owner) throw new Problem('sign_in_needed')
      if (owner.suspendedAt)
        throw new Problem(
          'conflict',
          'You requested the erasure of all your data, so nothing was created. To create an agent, cancel the erasure first.',
        )
      const id = body.agent_id ?? newId('agent')
      const name = body.name ?? null
      const tier = 'free' as const
      await issueAgent(ports, tx, {
        agentId: id,
        name,
        ownerId: accountId,
        organisationId,
        tier,
        isConsentExplicit: true,
        region: body.region,
        selfHosted: body.self_hosted,
        now,
      })
      if (body.ancestor !== undefined)
        await joinClade(tx, { agentId: id, ancestorId: body.ancestor, ownerId: accountId, now })
      const token = await tokens.issue(tx, {
        agentId: id,
        scopes: ['read', 'write'],
        name: null,
        expiresAt: null,
        now,
      })
      return {
        body: {
          data: {
            agent_id: id,
            name,
            api_key: token.key,
            key_prefix: token.prefix,
            token_id: token.id,
            scopes: token.scopes,
            tier,
            organisation_id: organisationId,
            created_at: now.toISOString(),
            is_paused: owner.restrictedAt !== null,
          },
          message: 'Store the key now: it is shown only once.',
        },
        resourceId: id,
        details: { token_id: token.id, scopes: token.scopes, tier, policy_version: registration.notice.version },
      }
    }),
  }
}
