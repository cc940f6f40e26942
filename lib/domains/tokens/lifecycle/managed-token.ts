import type { MutationContext } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { NewToken, TokenAgentStatus, TokenPorts } from '../ports.ts'
import { isOwn } from './grant.ts'

export type ManagementDeps = Pick<TokenPorts, 'agentOf' | 'pipeline' | 'notify' | 'requireApproval'>

export const tokenNotFound = () =>
  new Problem('not_found', 'This token does not exist, or it belongs to an agent that you do not manage.')

/** Whether an admin is issuing the token for an agent that they do not own. */
export const isByAdmin = ({ actor }: MutationContext, agent: TokenAgentStatus): boolean =>
  actor.isAdmin && !isOwn(actor, agent)

/** Returns the locked agent if the actor may manage it; agents of others look nonexistent. */
export async function managedAgent(
  { agentOf }: ManagementDeps,
  { tx, actor }: MutationContext,
  agentId: string,
): Promise<TokenAgentStatus | null> {
  const agent = await agentOf(tx, agentId, { lock: true })
  return agent && (actor.isAdmin || isOwn(actor, agent)) ? agent : null
}

/** Returns the token with its locked agent. @throws {Problem} `not_found` unless the actor may manage the agent */
export async function managedToken(
  deps: ManagementDeps,
  ctx: MutationContext,
  where: { id: string } | { prefix: string },
) {
  const record = await ctx.tx.token.findUnique({ where, select: { id: true, agentId: true } })
  const agent = record && (await managedAgent(deps, ctx, record.agentId))
  // Read again: other changes to the agent's tokens are only blocked since the agent was locked.
  const token = agent && (await ctx.tx.token.findUnique({ where: { id: record.id } }))
  if (!token) throw tokenNotFound()
  return { agent, token }
}

/** An admin's token can read the private units of the agent's owner, so the owner is notified. */
export async function notifyOwner(
  { notify }: ManagementDeps,
  ctx: MutationContext,
  agent: TokenAgentStatus,
  { prefix }: NewToken,
): Promise<void> {
  if (isByAdmin(ctx, agent) && agent.ownerId !== null)
    await notify(ctx.tx, { kind: 'token-issued', accountId: agent.ownerId, keyPrefix: prefix })
}

export const presentNewToken = (made: NewToken, agentId: string, name: string | null) => ({
  id: made.id,
  agent_id: agentId,
  api_key: made.key,
  key_prefix: made.prefix,
  name,
  scopes: made.scopes,
  created_at: made.createdAt.toISOString(),
  expires_at: made.expiresAt?.toISOString() ?? null,
  issued_by_admin: made.issuedByAdmin,
  issued_by_token_id: made.issuedByTokenId,
})
