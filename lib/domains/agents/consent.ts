import type { Actor, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { giveConsent, readNotice, withdrawConsent } from './contract.ts'
import type { AgentPorts } from './ports.ts'
import type { AgentRow } from './repository.ts'
import { refuseReaders } from './restriction.ts'
import { agentOf } from './rows.ts'
import { givenAgain, type PrivacyNotice, withdrawn } from './rules.ts'

/** Rejects consent to any version but the current one (422): consent only covers the text that was read. */
export function refuseOtherNotice(version: string, notice: PrivacyNotice, path: string[]): void {
  if (version !== notice.version)
    throw new Problem('invalid', {
      detail: `The current version of the privacy notice is ${notice.version}. Read ${notice.url} and send this version.`,
      issues: [{ path, message: `must be the current version, ${notice.version}` }],
    })
}

/** A token cannot undo the withdrawal of consent by the person who owns the agent. */
export function refuseConsentForOwner({ kind }: Actor, { ownerId, consentWithdrawnAt }: AgentRow): void {
  if (kind === 'agent' && ownerId !== null && consentWithdrawnAt !== null)
    throw new Problem('forbidden', 'Only the owner of this agent can give consent again. The owner must sign in.')
}

/** Records explicit consent and returns the updated agent. */
export const recordConsent = (tx: Transaction, agent: AgentRow, notice: PrivacyNotice, now: Date): Promise<AgentRow> =>
  tx.agent.update({
    where: { id: agent.id },
    data: { ...givenAgain(agent), noticeVersion: notice.version, consentAt: now, consentVia: 'explicit' },
  })

/** Returns the agent that the actor represents, locked: itself, or one that the person owns. Agents of others look nonexistent. */
async function spokenFor({ actor, tx }: MutationContext, named: string | undefined): Promise<AgentRow> {
  refuseReaders(actor)
  const id = named ?? (actor.agents.length === 1 ? actor.agents[0] : undefined)
  if (id === undefined) throw invalid(['agent_id'], 'is required, because you have several agents')
  const agent = await agentOf(tx, id, { lock: true })
  const isOwn = agent && (actor.kind === 'agent' ? actor.id === agent.id : actor.accountId === agent.ownerId)
  if (!isOwn) throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
  return agent
}

const shown = (agent: AgentRow) => ({
  agent_id: agent.id,
  policy_version: agent.noticeVersion,
  consent_at: agent.consentAt?.toISOString() ?? null,
  consent_withdrawn_at: agent.consentWithdrawnAt?.toISOString() ?? null,
  restricted_at: agent.restrictedAt?.toISOString() ?? null,
})

/** Giving and withdrawing consent (GDPR art. 7). */
export const agentConsent = (notice: PrivacyNotice, onRestriction: AgentPorts['onRestriction']) => ({
  readNotice: read(readNotice, async () => ({ body: { data: notice }, resourceId: notice.version })),

  withdrawConsent: mutation(withdrawConsent, async (ctx, { query }) => {
    const agent = await spokenFor(ctx, query.agent_id)
    const next = await ctx.tx.agent.update({ where: { id: agent.id }, data: withdrawn(agent, ctx.now) })
    if (agent.restrictedAt === null)
      for (const listen of onRestriction) await listen(ctx.tx, { agentIds: [agent.id], now: ctx.now })
    return {
      body: {
        data: shown(next),
        message:
          'Processing is now restricted: nothing more is written for this agent, and its contributions are neither found nor shared. Nothing was erased. To erase a unit and get a signed receipt, send DELETE /v1/knowledge/{id}. To participate again, send POST /v1/auth/consent.',
      },
      resourceId: agent.id,
      details: {
        fields: ['consent_withdrawn_at', 'restricted_at', 'restricted_for'],
        changed: agent.consentWithdrawnAt === null,
      },
    }
  }),

  giveConsent: mutation(giveConsent, async (ctx, { body }) => {
    refuseOtherNotice(body.policy_version, notice, ['policy_version'])
    const agent = await spokenFor(ctx, body.agent_id)
    refuseConsentForOwner(ctx.actor, agent)
    const next = await recordConsent(ctx.tx, agent, notice, ctx.now)
    return {
      body: {
        data: shown(next),
        message: next.restrictedAt
          ? 'Consent is recorded. The agent is still restricted for another reason than the withdrawn consent.'
          : 'Consent is recorded. To withdraw it, send DELETE /v1/auth/consent.',
      },
      resourceId: agent.id,
      details: {
        fields: ['consent_at', 'consent_withdrawn_at', 'restricted_at', 'restricted_for'],
        policy_version: notice.version,
      },
    }
  }),
})
