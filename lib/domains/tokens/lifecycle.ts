import { enqueueNotice } from '#lib/domains/accounts/writes.ts'
import { agentOf } from '#lib/domains/agents/queries.ts'
import { type Approvable, approvable, type RequireApproval } from '#lib/kernel/approval.ts'
import type { Actor, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { hashOf, newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, requireRecentPassword } from '#lib/kernel/use-case.ts'
import { createToken, revokeByPrefix, revokeToken, rotateToken } from './contract.ts'
import { makeKey, prefixOf } from './keys.ts'
import { descendsFrom, type Issuer, lockFamilies, lockIssuer, passOn, revokeDescendants } from './lineage.ts'
import type { GrantToken, IssueToken, NewToken, TokenAgentStatus, TokenPorts } from './ports.ts'
import { countTowardsLimit } from './repository.ts'
import {
  adminTokenLife,
  endedTokenCounted,
  grantable,
  mayRotate,
  outlives,
  overlapEnd,
  overlaps,
  type TokenScope,
  tierLimits,
  tokenScopesInOrder,
  tokenStateOf,
} from './rules.ts'

/** Whether the actor is the agent itself or the person who owns it. */
export const isOwn = (actor: Actor, agent: Pick<TokenAgentStatus, 'id' | 'ownerId'>): boolean =>
  actor.kind === 'agent'
    ? actor.id === agent.id
    : actor.kind === 'person' && actor.accountId !== undefined && actor.accountId === agent.ownerId

/**
 * Expiry of a new token with scope `admin`. A leaked token or an unattended browser must not gain permanent access.
 * @throws {Problem} `scope_too_small` or `forbidden` unless the actor is an admin in a session; `step_up_required`
 */
export function endOfAdminToken(ctx: Pick<MutationContext, 'actor' | 'now'>): Date {
  if (ctx.actor.kind === 'agent' && !ctx.actor.isAdmin)
    throw new Problem(
      'scope_too_small',
      'This token cannot grant the scope "admin" because it does not have that scope.',
    )
  if (ctx.actor.kind !== 'person' || !ctx.actor.isAdmin)
    throw new Problem(
      'forbidden',
      'Only an admin who is signed in to the console can grant the scope "admin". No token was created.',
    )
  requireRecentPassword(ctx)
  return new Date(ctx.now.getTime() + adminTokenLife)
}

/**
 * Rejects scopes and lifetimes beyond the actor's own, so that a leaked token cannot extend its own access. `issuer` is the actor's token;
 * a token that expires cannot issue one that expires later.
 */
function refuseEscalation(
  ctx: MutationContext,
  issuer: Issuer | null,
  wanted: { scopes: readonly TokenScope[]; expiresAt: Date | null },
): void {
  if (wanted.scopes.includes('admin') && outlives(wanted.expiresAt, endOfAdminToken(ctx)))
    throw invalid(
      ['expires_at'],
      'is more than 90 days from now, which is the limit for a token with the scope "admin"',
    )
  const may = grantable(ctx.actor)
  const beyond = wanted.scopes.find((scope) => !may.includes(scope))
  if (
    !beyond &&
    ctx.actor.kind === 'person' &&
    !ctx.actor.can('tokens:write') &&
    wanted.scopes.some((scope) => scope !== 'read')
  )
    throw new Problem(
      'forbidden',
      'Your role may only read, so it can grant only the scope "read". No token was created.',
    )
  if (beyond)
    throw ctx.actor.kind === 'agent'
      ? new Problem(
          'scope_too_small',
          `This token cannot grant the scope "${beyond}" because it does not have that scope.`,
        )
      : new Problem('forbidden', `Only an admin can grant the scope "${beyond}".`)
  if (outlives(wanted.expiresAt, issuer?.expiresAt ?? null))
    throw new Problem(
      'forbidden',
      'A token that expires cannot create a token that expires later. Choose an earlier expiry.',
    )
}

/** Issues a token within the actor's own scopes and lifetime. The caller must already have checked that the actor may manage the agent. */
export const tokenGrant =
  (issue: IssueToken, requireApproval: RequireApproval): GrantToken =>
  async (ctx, { expiresAt, request, ...spec }) => {
    const issuer = await lockIssuer(ctx)
    const longest = spec.scopes.includes('admin') ? endOfAdminToken(ctx) : (issuer?.expiresAt ?? null)
    const wanted = { ...spec, expiresAt: expiresAt ?? longest }
    refuseEscalation(ctx, issuer, wanted)
    if (spec.scopes.includes('admin')) await requireApproval(ctx, request)
    return issue(ctx.tx, {
      ...wanted,
      issuedByTokenId: issuer?.id ?? null,
      ownerConfirms: issuer?.ownerConfirms ?? false,
      now: ctx.now,
    })
  }

const tokenNotFound = () =>
  new Problem('not_found', 'This token does not exist, or it belongs to an agent that you do not manage.')

/** Whether an admin is issuing the token for an agent that they do not own. */
const isByAdmin = ({ actor }: MutationContext, agent: TokenAgentStatus): boolean =>
  actor.isAdmin && !isOwn(actor, agent)

/** Returns the locked agent if the actor may manage it; agents of others look nonexistent. */
async function managedAgent({ tx, actor }: MutationContext, agentId: string): Promise<TokenAgentStatus | null> {
  const agent = await agentOf(tx, agentId, { lock: true })
  return agent && (actor.isAdmin || isOwn(actor, agent)) ? agent : null
}

/** Returns the token with its locked agent. @throws {Problem} `not_found` unless the actor may manage the agent */
async function managedToken(ctx: MutationContext, where: { id: string } | { prefix: string }) {
  const record = await ctx.tx.token.findUnique({ where, select: { id: true, agentId: true } })
  const agent = record && (await managedAgent(ctx, record.agentId))
  // Read again: other changes to the agent's tokens are only blocked since the agent was locked.
  const token = agent && (await ctx.tx.token.findUnique({ where: { id: record.id } }))
  if (!token) throw tokenNotFound()
  return { agent, token }
}

/** An admin's token can read the private units of the agent's owner, so the owner is notified. */
async function notifyOwner(ctx: MutationContext, agent: TokenAgentStatus, { prefix }: NewToken): Promise<void> {
  if (isByAdmin(ctx, agent) && agent.ownerId !== null)
    await enqueueNotice(ctx.tx, {
      kind: 'token-issued',
      accountId: agent.ownerId,
      keyPrefix: prefix,
      at: ctx.now,
    })
}

const presentNewToken = (made: NewToken, agentId: string, name: string | null) => ({
  id: made.id,
  agent_id: agentId,
  api_key: made.key,
  key_prefix: made.prefix,
  name,
  scopes: made.scopes,
  created_at: made.createdAt,
  expires_at: made.expiresAt,
  issued_by_admin: made.issuedByAdmin,
  issued_by_token_id: made.issuedByTokenId,
})

/** Counts an agent's active tokens. Exact only while the agent's row is locked. */
const countInUse = (tx: Transaction, agentId: string, now: Date): Promise<number> =>
  tx.token.count({
    where: { agentId, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
  })

/** Stores a new token without checking the tier's limit. The limit key is the token's own id unless the token replaces another one. */
async function storeToken(
  tx: Transaction,
  {
    agentId,
    name,
    now,
    expiresAt,
    limitKey,
    issuedByAdmin = false,
    issuedByTokenId = null,
    ownerConfirms = false,
    ...spec
  }: Parameters<IssueToken>[1] & { limitKey?: string },
): Promise<NewToken> {
  const scopes = tokenScopesInOrder(spec.scopes)
  // Prefixes have 47 random bits and must be unique; draw again on a collision.
  for (let attempt = 0; attempt < 5; attempt++) {
    const key = makeKey()
    const marks = { issuedByAdmin, issuedByTokenId }
    const made = { id: newId('tok'), prefix: prefixOf(key), createdAt: now, expiresAt, scopes, ...marks }
    const { count } = await tx.token.createMany({
      data: [{ ...made, agentId, ownerConfirms, limitKey: limitKey ?? made.id, name, hash: hashOf(key) }],
      skipDuplicates: true,
    })
    if (count === 1) return { ...made, key }
  }
  throw new Problem('unavailable', {
    detail: 'No unused key prefix was found. Send the request again.',
    headers: { 'Retry-After': '1' },
  })
}

/**
 * Issues a token within the tier's limit without checking permissions: the initial setup and `kp admin token` call it directly. Requests
 * use {@link GrantToken}, which checks the actor.
 * @throws {Problem} `not_found`, `conflict`
 */
export const issueToken: IssueToken = async (tx, spec) => {
  const agent = await agentOf(tx, spec.agentId, { lock: true })
  if (!agent) throw new Problem('not_found', 'No agent with this id exists.')
  const max = tierLimits[agent.tier].tokens
  // Ended tokens count for a minute. Otherwise creating and revoking tokens repeatedly would open new rate limit windows without limit.
  const since = new Date(spec.now.getTime() - endedTokenCounted)
  const [counted] = await countTowardsLimit(tx, { agent: agent.id, now: spec.now, since })
  if ((counted?.n ?? 0) >= max)
    throw new Problem(
      'conflict',
      `An agent of the tier ${agent.tier} can have at most ${max} active tokens. A token created within the last minute also counts after it ended. Rotate a token, or revoke one and try again in a minute.`,
    )
  return storeToken(tx, spec)
}

/** Id of the agent to issue the token for: the requested one, or the actor's only agent. */
function targetOf({ actor }: MutationContext, agentId: string | undefined): string {
  if (agentId !== undefined) return agentId
  const [only, ...others] = actor.agents
  if (only !== undefined && others.length === 0) return only
  throw invalid(['agent_id'], 'is required, because you do not have exactly one agent')
}

/** Creates a token for an agent of the actor; an admin can create one for any agent. */
const tokenCreation = (deps: TokenPorts & { grant: GrantToken }) =>
  mutation(createToken, async (ctx, { body }) => {
    const agent = await managedAgent(ctx, targetOf(ctx, body.agent_id))
    if (!agent) throw new Problem('not_found', 'This agent does not exist, or you do not manage it.')
    if (body.expires_at && body.expires_at <= ctx.now) throw invalid(['expires_at'], 'is in the past')
    const expiresAt =
      body.expires_at ??
      (body.expires_in_days === undefined ? undefined : new Date(ctx.now.getTime() + body.expires_in_days * 86_400_000))
    const name = body.name ?? null
    const made = await deps.grant(ctx, {
      agentId: agent.id,
      scopes: body.scopes ?? ['read'],
      name,
      expiresAt,
      issuedByAdmin: isByAdmin(ctx, agent),
      request: { operation: createToken, input: { body } },
    })
    await notifyOwner(ctx, agent, made)
    return {
      body: {
        data: presentNewToken(made, agent.id, name),
        message: 'Store the key now. It is shown only once.',
      },
      resourceId: made.id,
      details: {
        agent_id: agent.id,
        scopes: made.scopes,
        expires: made.expiresAt !== null,
        ...(made.issuedByTokenId !== null && { issued_by: made.issuedByTokenId }),
      },
    }
  })

const sooner = <D extends Date | null>(one: Date | null, other: D): Date | D =>
  one && (other === null || one < other) ? one : other

/** Tokens issued by earlier versions may live longer than their kind may now; their successors must not. */
function endOfSuccessor(
  ctx: MutationContext,
  { expiresAt }: { expiresAt: Date | null },
  { scopes, issuer }: { scopes: readonly TokenScope[]; issuer: Issuer | null },
): Date | null {
  if (scopes.includes('admin')) return sooner(expiresAt, endOfAdminToken(ctx))
  // The successor must not outlive the admin's token that creates it.
  return sooner(expiresAt, (ctx.actor.isAdmin && issuer?.expiresAt) || null)
}

/** Locks the token and the actor's own, and checks that the first can be rotated. @throws {Problem} `not_found`, `conflict` */
async function lockRotated(ctx: MutationContext, id: string) {
  const issuer = await lockIssuer(ctx, id)
  // Read again: the revocation of a token of another agent does not lock this agent.
  const old = await ctx.tx.token.findUnique({ where: { id } })
  if (!old) throw tokenNotFound()
  const state = tokenStateOf(old, ctx.now)
  if (state !== 'active')
    throw new Problem('conflict', `This token is ${state}. Only an active token can be rotated; create a new one.`)
  return { issuer, old }
}

/** Replaces a token by one with the same scopes and limit key. The old key can stay valid for an overlap. */
const tokenRotation = (deps: TokenPorts) =>
  mutation(rotateToken, async (ctx, { params, body }) => {
    const { agent, token } = await managedToken(ctx, params)
    const { issuer, old } = await lockRotated(ctx, token.id)
    const scopes = tokenScopesInOrder(old.scopes)
    const expiresAt = endOfSuccessor(ctx, old, { scopes, issuer })
    refuseEscalation(ctx, issuer, { scopes, expiresAt })
    if (scopes.includes('admin')) await deps.requireApproval(ctx, { operation: rotateToken, input: { params, body } })
    // A token that replaces itself keeps its issuer. Another token knows the new key, so it becomes the issuer.
    const isByAnother = issuer !== null && issuer.id !== old.id
    if (isByAnother && (await descendsFrom(ctx.tx, issuer.id, old.id)))
      throw new Problem(
        'forbidden',
        'A token cannot rotate the token with which it was created. Rotate that token with its own key, or in the console.',
      )
    const overlap = overlaps[body.overlap]
    if (!mayRotate(await countInUse(ctx.tx, agent.id, ctx.now), agent.tier, overlap))
      throw new Problem(
        'conflict',
        `This agent already has more than ${tierLimits[agent.tier].tokens} active tokens. Rotate without overlap, or revoke a token first.`,
      )
    await ctx.tx.token.update({
      where: { id: old.id },
      data: {
        ...(overlap === 0 ? { revokedAt: ctx.now } : { expiresAt: overlapEnd(old.expiresAt, overlap, ctx.now) }),
        revokedReason: 'rotation',
      },
    })
    const made = await storeToken(ctx.tx, {
      agentId: agent.id,
      scopes,
      name: old.name,
      expiresAt,
      limitKey: old.limitKey,
      now: ctx.now,
      issuedByAdmin: isByAdmin(ctx, agent),
      issuedByTokenId: isByAnother ? issuer.id : old.issuedByTokenId,
      ownerConfirms: issuer !== null && (issuer.ownerConfirms || old.ownerConfirms),
    })
    await passOn(ctx.tx, old.id, made.id)
    await notifyOwner(ctx, agent, made)
    return {
      body: {
        data: presentNewToken(made, agent.id, old.name),
        message: `Store the key now. It is shown only once. The old key ${overlap === 0 ? 'is revoked' : `stays valid for another ${body.overlap}`}.`,
      },
      resourceId: old.id,
      details: { agent_id: agent.id, rotated_to: made.id, overlap: body.overlap },
    }
  })

interface StoredToken {
  id: string
  limitKey: string
  revokedReason: string | null
}

/** The newest active successor of a token that was rotated. A leaked key can have been used to rotate the token itself. */
async function successorOf({ tx, now }: MutationContext, { id, limitKey, revokedReason }: StoredToken) {
  if (revokedReason !== 'rotation') return null
  return tx.token.findFirst({
    where: { limitKey, id: { not: id }, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    select: { prefix: true },
  })
}

/**
 * A token revokes itself and what was created with it. A leaked token must not end better ones for good, so other tokens of its agent need its
 * scope `write` and all scopes that they have.
 */
async function refuseWeaker(
  { tx, actor }: MutationContext,
  { id, scopes }: { id: string; scopes: readonly string[] },
): Promise<void> {
  if (actor.kind !== 'agent' || actor.isAdmin || actor.tokenId === id) return
  const own: readonly string[] = actor.scopes
  if (own.includes('admin') || (own.includes('write') && scopes.every((scope) => own.includes(scope)))) return
  if (actor.tokenId !== undefined && (await descendsFrom(tx, id, actor.tokenId))) return
  throw new Problem(
    'scope_too_small',
    'A token revokes itself and the tokens that were created with it. Another token of its agent is revoked by a token with "write" and all scopes of that token, by the owner, or by an admin. Nothing was changed.',
  )
}

/** Revokes the token and the active tokens that were created with it, directly or through others. */
async function revoke(deps: TokenPorts, ctx: MutationContext, where: { id: string } | { prefix: string }) {
  const { tx, now, actor, ip } = ctx
  const { agent, token } = await managedToken(ctx, where)
  await refuseWeaker(ctx, token)
  const family = await lockFamilies(tx, [token.id], now)
  const { count } = await tx.token.updateMany({
    where: { id: token.id, revokedAt: null },
    data: { revokedAt: now, revokedReason: isOwn(actor, agent) ? 'owner' : 'admin' },
  })
  const changed = count === 1
  const { auditWithin } = deps.pipeline
  const descendants = await revokeDescendants(tx, auditWithin, family, { now, actorId: actor.id, ip })
  const details = {
    agent_id: agent.id,
    changed: changed || descendants.length > 0,
    ...(descendants.length > 0 && { descendants: descendants.length }),
  }
  return { token, revokedAt: token.revokedAt ?? now, changed, descendants: descendants.length, details }
}

/** Revokes tokens by id or by the prefix of their key. */
const tokenRevocation = (deps: TokenPorts) => ({
  revoke: mutation(revokeToken, async (ctx, { params }) => {
    const { token, details } = await revoke(deps, ctx, params)
    return { body: undefined, resourceId: token.id, details }
  }),

  revokeByPrefix: mutation(revokeByPrefix, async (ctx, { body }) => {
    const { token, revokedAt, changed, descendants, details } = await revoke(deps, ctx, { prefix: body.key_prefix })
    const successor = await successorOf(ctx, token)
    const message = [
      changed ? 'The token is revoked.' : 'The token was already revoked.',
      ...(descendants > 0 ? [`Tokens that were created with it are also revoked: ${descendants}.`] : []),
      ...(successor
        ? [`Its successor ${successor.prefix} is still active. If the key leaked, also revoke the successor.`]
        : []),
    ].join(' ')
    return {
      body: {
        data: {
          id: token.id,
          key_prefix: token.prefix,
          revoked: true as const,
          revoked_at: revokedAt,
          revoked_descendants: descendants,
        },
        message,
      },
      resourceId: token.id,
      details: { ...details, fields: ['revoked_at'] },
    }
  }),
})

/** Creates, rotates and revokes tokens. Each operation locks the agent's row first, so that token counts are exact. */
export const tokenManagement = (deps: TokenPorts & { grant: GrantToken }) => ({
  create: tokenCreation(deps),
  rotate: tokenRotation(deps),
  ...tokenRevocation(deps),
})

const listed = (scopes: readonly string[]) => scopes.join(', ')

/** Actions that create a token with the scope `admin`. */
export function tokenApprovables(): readonly Approvable[] {
  const subjectsOf = async (tx: Transaction, agentId: string) => {
    const owner = (await agentOf(tx, agentId))?.ownerId ?? null
    return owner === null ? [agentId] : [agentId, owner]
  }
  return [
    approvable(createToken, async (tx, { body: { agent_id: agent, name, scopes = ['read'], ...lifetime } }) => {
      // Otherwise the agent would depend on what the proposer owns when the token is created.
      if (agent === undefined) throw invalid(['agent_id'], 'is required for an approval')
      const { expires_at: until, expires_in_days: days } = lifetime
      return {
        subjects: await subjectsOf(tx, agent),
        facts: {
          agent,
          token: name ?? null,
          scopes: listed(scopes),
          until: until?.toISOString() ?? null,
          days: days ?? null,
        },
      }
    }),
    approvable(rotateToken, async (tx, { params: { id } }) => {
      const token = await tx.token.findUnique({ where: { id, revokedAt: null } })
      if (!token) throw tokenNotFound()
      const { agentId: agent, prefix, scopes } = token
      return { subjects: await subjectsOf(tx, agent), facts: { agent, token: prefix, scopes: listed(scopes) } }
    }),
  ]
}
