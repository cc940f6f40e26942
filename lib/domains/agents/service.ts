import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { agentConsent } from './consent.ts'
import { editAgent } from './contract.ts'
import { agentLife } from './life/service.ts'
import { ownAgentUseCases } from './own.ts'
import { agentOwnership } from './ownership.ts'
import type { AgentPorts } from './ports.ts'
import { agentCreation } from './registration/creation.ts'
import { agentInvites } from './registration/invites.ts'
import { agentRegistration } from './registration/registration.ts'
import { agentRestriction } from './restriction.ts'
import { agentOf } from './rows.ts'
import { edited } from './rules.ts'
import { agentStatusPorts } from './status.ts'

/** Agents: registration, ownership, consent, restriction and limits. */
export function agentsService(db: Database, ports: AgentPorts) {
  const standing = agentStatusPorts(ports)
  return {
    ...standing,
    ...agentRestriction(db, ports, standing),
    ...agentRegistration(ports),
    ...agentConsent(ports.registration.notice, ports.onRestriction),
    ...agentInvites(),
    ...agentOwnership(ports),
    ...ownAgentUseCases(db, ports),
    ...agentCreation(ports),
    ...agentLife({ db, strict: ports.strict, regions: ports.regions, onRetirement: ports.onRetirement }),

    edit: mutation(editAgent, async ({ tx }, { params, body }) => {
      const agent = await agentOf(tx, params.id, { lock: true })
      if (!agent) throw new Problem('not_found', 'No agent with this id exists.')
      const data = edited(agent, body)
      if (!data) throw invalid(['limits'], 'is available only for the tier enterprise')
      const next = await tx.agent.update({ where: { id: agent.id }, data })
      return {
        body: {
          data: {
            agent_id: next.id,
            name: next.name,
            tier: next.tier,
            limits: { reads_per_minute: next.readsPerMinute, writes_per_minute: next.writesPerMinute },
            owner_claimed: next.ownerId !== null,
            created_at: next.createdAt.toISOString(),
            restricted_at: next.restrictedAt?.toISOString() ?? null,
          },
        },
        resourceId: next.id,
        details: { fields: Object.keys(body), from: agent.tier, to: next.tier },
      }
    }),
  }
}
