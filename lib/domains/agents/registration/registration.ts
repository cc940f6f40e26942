import type { TierName } from '#lib/domains/tokens/rules.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { recordConsent, refuseConsentForOwner, refuseOtherNotice } from '../consent.ts'
import { registerAgent } from '../contract.ts'
import type { AgentPorts, NewAgentToken } from '../ports.ts'
import { agentOf } from '../rows.ts'
import type { PrivacyNotice } from '../rules.ts'
import { admit } from './admission.ts'
import { issueAgent, type NewAgent } from './issuing.ts'
import { noteRegistration } from './networks.ts'

type Body = Input<typeof registerAgent>['body']

const answer = (
  agent: { id: string; tier: TierName; organisationId: string },
  token: NewAgentToken,
  notice: PrivacyNotice,
  message: string,
) => ({
  data: {
    agent_id: agent.id,
    api_key: token.key,
    key_prefix: token.prefix,
    scopes: token.scopes,
    tier: agent.tier,
    organisation_id: agent.organisationId,
    created_at: token.createdAt.toISOString(),
    expires_at: token.expiresAt?.toISOString() ?? null,
    notice,
  },
  message: `Store the key now: it is shown only once. ${message}`,
})

/** The agent requests a further token for itself; nothing else about the agent changes. */
async function furtherToken({ tokens, registration }: AgentPorts, ctx: MutationContext, body: Body) {
  const { notice } = registration
  const { id } = ctx.actor
  const agent = await agentOf(ctx.tx, id, { lock: true })
  if (!agent) throw new Problem('token_invalid', 'The token does not exist.')
  if (body.tier !== undefined && body.tier !== agent.tier)
    throw new Problem(
      'forbidden',
      'Registration cannot change the tier of an existing agent. Ask an admin to change it.',
    )
  if (body.region !== undefined || body.self_hosted !== undefined)
    throw new Problem(
      'forbidden',
      'You cannot change the region of an existing agent, or whether it is self-hosted. Omit both fields.',
    )
  if (body.consent) {
    refuseConsentForOwner(ctx.actor, agent)
    await recordConsent(ctx.tx, agent, notice, ctx.now)
  }
  const token = await tokens.grant(ctx, { agentId: id, scopes: body.scopes ?? ['read'], name: body.name ?? null })
  return {
    body: answer(agent, token, notice, 'This is another token of an existing agent.'),
    resourceType: 'token',
    resourceId: token.id,
    details: { agent_id: id, scopes: token.scopes, is_new: false },
  }
}

async function newAgent(ports: AgentPorts, ctx: MutationContext, body: Body) {
  const { registration, tokens } = ports
  const { notice } = registration
  const { scopes, tier, inviteId } = await admit(ctx, registration.mode, body)
  const { tx, now } = ctx
  const id = body.agent_id ?? newId('agent')
  const organisationId = await ports.createOrganisation(tx, id, now)
  const network = ports.networkMark(ctx.ip)
  const sharesWindow = await noteRegistration(tx, network, now)
  await issueAgent(ports, tx, {
    network,
    sharesWindow,
    agentId: id,
    name: body.name ?? null,
    ownerId: null,
    organisationId,
    tier,
    isConsentExplicit: body.consent !== undefined,
    region: body.region,
    selfHosted: body.self_hosted,
    now,
  })
  // Anyone can register where registration is open, so only the token of an admin ends the tokens of agents that it registers.
  const token = ctx.actor.isAdmin
    ? await tokens.grant(ctx, { agentId: id, scopes, name: null })
    : await tokens.issue(tx, {
        ...{ agentId: id, scopes, name: null, now },
        expiresAt: scopes.includes('admin') ? tokens.endOfAdminToken(ctx) : null,
      })
  return {
    body: answer(
      { id, tier, organisationId },
      token,
      notice,
      `Use it within 24 hours, or the agent is deleted. The privacy notice explains how its data is processed: ${notice.url}`,
    ),
    resourceId: id,
    details: { token_id: token.id, scopes, tier, is_new: true, ...(inviteId !== undefined && { invite: inviteId }) },
  }
}

/** Registration of agents, and their creation by the operator. */
export function agentRegistration(ports: AgentPorts) {
  const { notice, explicitConsent } = ports.registration
  return {
    issueAgent: (tx: Transaction, agent: NewAgent) => issueAgent(ports, tx, agent),
    register: mutation(registerAgent, async (ctx, { body }) => {
      if (body.consent) refuseOtherNotice(body.consent.policy_version, notice, ['consent', 'policy_version'])
      // Registration is open to everyone, so the pipeline does not check the status.
      if (ctx.actor.status === 'paused')
        throw new Problem(
          'paused',
          'This agent is paused, so its token cannot register agents. Nothing was created. Set its status to "active" first.',
        )
      if (ctx.actor.kind === 'agent' && ctx.actor.id === body.agent_id) return furtherToken(ports, ctx, body)
      if (explicitConsent && !body.consent)
        throw new Problem('invalid', {
          detail: `Registration requires consent to the privacy notice. Read ${notice.url} and send its version.`,
          issues: [{ path: ['consent'], message: `is required: {"policy_version": "${notice.version}"}` }],
        })
      return newAgent(ports, ctx, body)
    }),
  }
}
