import type { TierName } from '#lib/domains/tokens/rules.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { requireRegion } from '#lib/kernel/data-regions.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { recordConsent, refuseConsentForOwner, refuseOtherNotice } from './consent.ts'
import { registerAgent } from './contract.ts'
import { spendInvite } from './invites.ts'
import { noteRegistration } from './networks.ts'
import type { AgentPorts, NewAgentToken } from './ports.ts'
import { fencedAgents } from './repository.ts'
import { agentOf } from './rows.ts'
import { consentRecord, decideRegistration, isReserved } from './rules.ts'
import { sharedAgentStatus } from './status.ts'

type Body = Input<typeof registerAgent>['body']

export interface NewAgent {
  agentId: string
  name: string | null
  ownerId: string | null
  organisationId: string
  tier: TierName
  /** Whether consent was sent explicitly rather than implied by registering. */
  isConsentExplicit: boolean
  region?: string | undefined
  selfHosted?: boolean | undefined
  /** Only for an agent that registers itself; see {@link noteRegistration}. */
  network?: Uint8Array<ArrayBuffer>
  sharesWindow?: boolean
  now: Date
}

/** Registration of agents, and their creation by the operator. */
export function agentRegistration(ports: AgentPorts) {
  const { registration, tokens } = ports
  const { notice } = registration

  /** Erased ids and ids being erased look like ids in use, so that nobody learns of the erasure. */
  async function isErasedOrBeing(tx: Transaction, agentId: string): Promise<boolean> {
    const fenced = await fencedAgents(tx, { ids: [agentId] })
    return fenced.length > 0 || (await ports.isSuppressed(tx, 'agent', [agentId])).length > 0
  }

  /**
   * Creates an agent without checking permissions. Of two concurrent requests for one id, one succeeds and the other throws `id_in_use`.
   * @throws {Problem} `id_in_use`; `invalid` for a reserved id; `outside_region`
   */
  async function issueAgent(
    tx: Transaction,
    { agentId, isConsentExplicit, region, selfHosted = false, now, ...fields }: NewAgent,
  ): Promise<void> {
    requireRegion(ports.regions, region, 'outside_region')
    if (isReserved(agentId)) throw invalid(['agent_id'], 'is a name that the registry keeps for itself')
    const consent = consentRecord(registration.lawfulBasis, notice, isConsentExplicit, now)
    const unrestricted = { restrictedAt: null, restrictedFor: [] }
    const standing =
      fields.ownerId === null ? unrestricted : await sharedAgentStatus(tx, ports, fields.ownerId, unrestricted, now)
    const isTaken = await isErasedOrBeing(tx, agentId)
    const { count } = isTaken
      ? { count: 0 }
      : await tx.agent.createMany({
          data: {
            id: agentId,
            ...fields,
            ...consent,
            ...standing,
            region: region ?? null,
            selfHosted,
            createdAt: now,
          },
          skipDuplicates: true,
        })
    if (count === 0)
      throw new Problem(
        'id_in_use',
        'This agent_id is taken. Choose another, or send a token of that agent to get one more for it.',
      )
  }

  async function admit(ctx: MutationContext, body: Body) {
    const { isAdmin } = ctx.actor
    const { mode } = registration
    if (mode === 'closed' && !isAdmin)
      throw new Problem('registration_closed', 'New agents are registered by this installation’s admins alone.')
    const code = mode === 'closed' ? undefined : body.invite
    const invite = code === undefined ? undefined : await spendInvite(ctx, code)
    if (!invite && code !== undefined)
      throw new Problem(
        mode === 'invite' ? 'registration_closed' : 'forbidden',
        'This invitation is not known, was used before or has expired.',
      )
    if (!invite && mode === 'invite' && !isAdmin)
      throw new Problem(
        'registration_closed',
        'Registration needs an invitation: ask an admin, and send its code as "invite".',
      )
    const verdict = decideRegistration(body, invite, isAdmin)
    if ('refused' in verdict) throw new Problem('forbidden', verdict.refused)
    return { ...verdict.granted, inviteId: invite?.id }
  }

  const answer = (
    agent: { id: string; tier: TierName; organisationId: string },
    token: NewAgentToken,
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
    message: `Keep the key: it is shown this once and cannot be read again. ${message}`,
  })

  /** The agent requests a further token for itself; nothing else about the agent changes. */
  async function furtherToken(ctx: MutationContext, body: Body, id: string) {
    const agent = await agentOf(ctx.tx, id, { lock: true })
    if (!agent) throw new Problem('token_invalid', 'No such token.')
    if (body.tier !== undefined && body.tier !== agent.tier)
      throw new Problem('forbidden', 'Registering does not change the tier of an agent that exists; an admin does.')
    if (body.region !== undefined || body.self_hosted !== undefined)
      throw new Problem(
        'forbidden',
        'The region of an agent, and whether it is self-hosted, are fixed at its creation.',
      )
    if (body.consent) {
      refuseConsentForOwner(ctx.actor, agent)
      await recordConsent(ctx.tx, agent, notice, ctx.now)
    }
    const token = await tokens.grant(ctx, { agentId: id, scopes: body.scopes ?? ['read'], name: body.name ?? null })
    return {
      body: answer(agent, token, 'This is one more token of an agent that exists.'),
      resourceType: 'token',
      resourceId: token.id,
      details: { agent_id: id, scopes: token.scopes, is_new: false },
    }
  }

  return {
    issueAgent,
    register: mutation(registerAgent, async (ctx, { body }) => {
      if (body.consent) refuseOtherNotice(body.consent.policy_version, notice, ['consent', 'policy_version'])
      // Registration is open to everyone, so the pipeline does not check the status.
      if (ctx.actor.status === 'paused')
        throw new Problem(
          'paused',
          'This agent was paused: its token registers nothing until its status is "active" again. Nothing was created.',
        )
      if (ctx.actor.kind === 'agent' && ctx.actor.id === body.agent_id) return furtherToken(ctx, body, ctx.actor.id)
      if (registration.explicitConsent && !body.consent)
        throw new Problem('invalid', {
          detail: `Consent to the privacy notice is needed: read ${notice.url} and send its version.`,
          issues: [{ path: ['consent'], message: `is needed: {"policy_version": "${notice.version}"}` }],
        })
      const { scopes, tier, inviteId } = await admit(ctx, body)
      const { tx, now } = ctx
      const id = body.agent_id ?? newId('agent')
      const organisationId = await ports.createOrganisation(tx, id, now)
      const network = ports.networkMark(ctx.ip)
      const sharesWindow = await noteRegistration(tx, network, now)
      await issueAgent(tx, {
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
          `Use it within 24 hours, or the agent is removed again. What is done with your data: ${notice.url}`,
        ),
        resourceId: id,
        details: {
          token_id: token.id,
          scopes,
          tier,
          is_new: true,
          ...(inviteId !== undefined && { invite: inviteId }),
        },
      }
    }),
  }
}
