import { activeAdminIds } from '#lib/domains/accounts/queries.ts'
import { createOrganisation } from '#lib/domains/accounts/writes.ts'
import { joinClade } from '#lib/domains/clades/writes.ts'
import { type TierName, tokenScopesInOrder } from '#lib/domains/tokens/rules.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { requireRegion } from '#lib/kernel/data-regions.ts'
import { hashOf, newId } from '#lib/kernel/ids.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { createInvite, createOwnAgent, registerAgent } from './contract.ts'
import type { AgentPorts, NewAgentToken } from './ports.ts'
import { recordConsent, refuseOtherNotice } from './privacy.ts'
import { agentOf } from './queries.ts'
import { addRegistration, fencedAgents, lockCreation } from './repository.ts'
import {
  consentRecord,
  decideRegistration,
  type Grant,
  isReserved,
  maxFreeAgents,
  maxUnusedAgents,
  type PrivacyNotice,
  type RequestedGrant,
  registrationsPerHour,
  registrationWindow,
} from './rules.ts'
import { sharedAgentStatus } from './status.ts'

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
    created_at: token.createdAt,
    expires_at: token.expiresAt,
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
  if (body.consent) await recordConsent(ctx, agent, notice)
  const token = await tokens.grant(ctx, { agentId: id, scopes: body.scopes ?? ['read'], name: body.name ?? null })
  return {
    body: answer(agent, token, notice, 'This is another token of an existing agent.'),
    resourceType: 'token',
    resourceId: token.id,
    details: { agent_id: id, scopes: token.scopes, is_new: false },
  }
}

/**
 * Decides which scopes and tier a registration gets, and consumes its invitation.
 * @throws {Problem} `registration_closed` or `forbidden`
 */
async function admit(
  { registration: { mode }, tokens }: Pick<AgentPorts, 'registration' | 'tokens'>,
  ctx: MutationContext,
  body: RequestedGrant & { invite?: string | undefined },
): Promise<Grant & { inviteId: string | undefined }> {
  const { isAdmin } = ctx.actor
  if (mode === 'closed' && !isAdmin)
    throw new Problem('registration_closed', 'Only admins of this installation can register agents. Ask an admin.')
  const code = mode === 'closed' ? undefined : body.invite
  const invite = code === undefined ? undefined : await spendInvite(tokens, ctx, code)
  if (!invite && code !== undefined)
    throw new Problem(
      mode === 'invite' ? 'registration_closed' : 'forbidden',
      'This invitation is unknown, was used before, has expired, or its creator can no longer invite agents. Ask an admin for a new one.',
    )
  if (!invite && mode === 'invite' && !isAdmin)
    throw new Problem(
      'registration_closed',
      'Registration requires an invitation. Ask an admin for one, and send its code as "invite".',
    )
  const decision = decideRegistration(body, invite, isAdmin)
  if ('refused' in decision) throw new Problem('forbidden', decision.refused)
  return { ...decision.granted, inviteId: invite?.id }
}

interface NewAgent {
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
type IssuingPorts = Pick<AgentPorts, 'registration' | 'regions' | 'isSuppressed' | 'accounts' | 'graceTokens'>

/**
 * Creates an agent without checking permissions. Of two concurrent requests for one id, one succeeds and the other throws `id_in_use`.
 * Erased ids and ids being erased look like ids in use, so that the response does not reveal an erasure.
 * @throws {Problem} `id_in_use`; `invalid` for a reserved id; `outside_region`
 */
async function issueAgent(
  ports: IssuingPorts,
  tx: Transaction,
  { agentId, isConsentExplicit, region, selfHosted = false, now, ...fields }: NewAgent,
): Promise<void> {
  const { registration, regions, isSuppressed } = ports
  requireRegion(regions, region, 'outside_region')
  if (isReserved(agentId)) throw invalid(['agent_id'], 'is reserved by the registry')
  const unrestricted = { restrictedAt: null, restrictedFor: [] }
  const status =
    fields.ownerId === null ? unrestricted : await sharedAgentStatus(tx, ports, fields.ownerId, unrestricted, now)
  const isUnavailable =
    (await fencedAgents(tx, { ids: [agentId] })).length > 0 || (await isSuppressed(tx, 'agent', [agentId])).length > 0
  const { count } = isUnavailable
    ? { count: 0 }
    : await tx.agent.createMany({
        data: {
          id: agentId,
          ...fields,
          ...consentRecord(registration.lawfulBasis, registration.notice, isConsentExplicit, now),
          ...status,
          region: region ?? null,
          selfHosted,
          createdAt: now,
        },
        skipDuplicates: true,
      })
  if (count === 0)
    throw new Problem(
      'id_in_use',
      'This agent_id is in use. Choose another id, or send a token of that agent to get another token for it.',
    )
}

/**
 * Records a registration from a network; returns true from the 61st within an hour on. Concurrent registrations from one network are
 * serialized, so the count is exact. It does not depend on existing agents: erasing them does not reset the limit.
 */
async function noteRegistration(tx: Transaction, network: Uint8Array<ArrayBuffer>, now: Date): Promise<boolean> {
  const since = new Date(now.getTime() - registrationWindow)
  const [row] = await addRegistration(tx, { network, now, since, max: registrationsPerHour })
  return (row?.n ?? 0) > registrationsPerHour
}

async function newAgent(ports: AgentPorts, ctx: MutationContext, body: Body) {
  const { registration, tokens } = ports
  const { notice } = registration
  const { scopes, tier, inviteId } = await admit(ports, ctx, body)
  const { tx, now } = ctx
  const id = body.agent_id ?? newId('agent')
  const organisationId = await createOrganisation(tx, id, now)
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
        agentId: id,
        scopes,
        name: null,
        now,
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

/** Id of an invitation in the audit log. The invitation code cannot be derived from it. */
export const inviteId = (hash: Uint8Array): string => `invite_${Buffer.from(hash).toString('hex').slice(0, 16)}`

/**
 * Whether the creator of an invitation may still invite: an admin with an open account, or an agent that is not retired and has a valid
 * token of scope `admin`.
 */
async function mayStillInvite(
  tokens: Pick<AgentPorts['tokens'], 'scopesInUse'>,
  { tx, now }: MutationContext,
  createdBy: string,
): Promise<boolean> {
  if (createdBy.startsWith('user:')) return (await activeAdminIds(tx)).includes(createdBy.slice('user:'.length))
  const agent = await tx.agent.findUnique({ where: { id: createdBy }, select: { status: true } })
  return agent?.status !== 'dead' && (await tokens.scopesInUse(tx, createdBy, now)).includes('admin')
}

/**
 * Consumes an invitation within the transaction: of two concurrent requests only one succeeds. Returns undefined if the code is not valid, or
 * its creator may no longer invite.
 */
async function spendInvite(
  tokens: Pick<AgentPorts['tokens'], 'scopesInUse'>,
  ctx: MutationContext,
  code: string,
): Promise<(Grant & { id: string }) | undefined> {
  const { tx, now } = ctx
  const codeHash = hashOf(code)
  const [spent] = await tx.invite.updateManyAndReturn({
    where: { codeHash, usedAt: null, expiresAt: { gt: now } },
    data: { usedAt: now },
  })
  if (!spent || !(await mayStillInvite(tokens, ctx, spent.createdBy))) return undefined
  return { id: inviteId(codeHash), scopes: tokenScopesInOrder(spent.scopes), tier: spent.tier }
}

export const agentInvites = () => ({
  invite: mutation(createInvite, async ({ tx, now, actor }, { body }) => {
    const code = newId('kpi')
    const codeHash = hashOf(code)
    const scopes = tokenScopesInOrder(body.scopes)
    const expiresAt = new Date(now.getTime() + body.expires_in_days * 86_400_000)
    const { tier } = body
    await tx.invite.create({ data: { codeHash, scopes, tier, createdBy: actor.id, createdAt: now, expiresAt } })
    const id = inviteId(codeHash)
    return {
      body: {
        data: { id, code, scopes, tier, created_at: now, expires_at: expiresAt },
        message: 'Store the code now: it is shown only once. It works once, as "invite" of POST /v1/auth/register.',
      },
      resourceId: id,
      details: { scopes, tier },
    }
  }),
})

/**
 * Bounds the agents of the tier free that a person owns, retired ones aside. The advisory lock serializes concurrent requests of one person,
 * so that the count is exact. @throws {Problem} `conflict`
 */
export async function boundOwnAgents(tx: Transaction, accountId: string): Promise<void> {
  await lockCreation(tx, { owner: accountId })
  const free = await tx.agent.count({ where: { ownerId: accountId, tier: 'free', status: { not: 'dead' } } })
  if (free >= maxFreeAgents)
    throw new Problem(
      'conflict',
      `You own ${free} agents of the tier free, which is the limit for one account. Nothing was changed. Delete agents that you do not need, or ask an admin for another tier.`,
    )
}

/** @throws {Problem} `forbidden` for a role that may only read: an agent writes, and its owner decides about what it wrote */
export function requireWriter({ actor }: Pick<MutationContext, 'actor'>): void {
  if (!actor.can('agents:write'))
    throw new Problem(
      'forbidden',
      'Your role may only read, so you cannot create or claim an agent. Nothing was changed.',
    )
}

/** Bounds the agents of a person that were never used. Exact after {@link boundOwnAgents}, which locks. */
async function refuseFlood(tx: Transaction, accountId: string): Promise<void> {
  const unused = await tx.agent.count({ where: { ownerId: accountId, firstUsedAt: null } })
  if (unused >= maxUnusedAgents)
    throw new Problem(
      'conflict',
      `${unused} of your agents were never used, so nothing was created. Use one of them, or delete the agents that you do not need.`,
    )
}

/** Creates agents that a person owns from the start, with explicit consent. */
export function agentCreation(ports: IssuingPorts & Pick<AgentPorts, 'tokens'>) {
  const { registration, tokens, accounts } = ports
  return {
    createOwn: mutation(createOwnAgent, async (ctx, { body }) => {
      const { tx, actor, now } = ctx
      const { accountId, organisationId } = actor
      if (accountId === undefined || organisationId === undefined) throw new Problem('sign_in_needed')
      requireWriter(ctx)
      refuseOtherNotice(body.consent.policy_version, registration.notice, ['consent', 'policy_version'])
      if (registration.mode === 'closed' && !actor.isAdmin)
        throw new Problem('registration_closed', 'Only admins of this installation can create agents. Ask an admin.')
      await boundOwnAgents(tx, accountId)
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
            created_at: now,
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
