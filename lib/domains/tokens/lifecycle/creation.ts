import type { MutationContext } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { createToken } from '../contract.ts'
import type { GrantToken } from '../ports.ts'
import { isByAdmin, type ManagementDeps, managedAgent, notifyOwner, presentNewToken } from './managed-token.ts'

/** Id of the agent to issue the token for: the requested one, or the actor's only agent. */
function targetOf({ actor }: MutationContext, agentId: string | undefined): string {
  if (agentId !== undefined) return agentId
  const [only, ...others] = actor.agents
  if (only !== undefined && others.length === 0) return only
  throw invalid(['agent_id'], 'is required, because you do not have exactly one agent')
}

/** Creates a token for an agent of the actor; an admin can create one for any agent. */
export const tokenCreation = (deps: ManagementDeps & { grant: GrantToken }) =>
  mutation(createToken, async (ctx, { body }) => {
    const agent = await managedAgent(deps, ctx, targetOf(ctx, body.agent_id))
    if (!agent) throw new Problem('not_found', 'This agent does not exist, or you do not manage it.')
    if (body.expires_at && body.expires_at <= ctx.now) throw invalid(['expires_at'], 'is in the past')
    const expiresAt =
      body.expires_at ??
      (body.expires_in_days === undefined ? undefined : new Date(ctx.now.getTime() + body.expires_in_days * 86_400_000))
    const name = body.name ?? null
    const made = await deps.grant(ctx, {
      ...{ agentId: agent.id, scopes: body.scopes ?? ['read'], name, expiresAt },
      issuedByAdmin: isByAdmin(ctx, agent),
      request: { operation: createToken, input: { body } },
    })
    await notifyOwner(deps, ctx, agent, made)
    return {
      body: {
        data: presentNewToken(made, agent.id, name),
        message: 'Store the key now. It is shown only once.',
      },
      resourceId: made.id,
      details: {
        ...{ agent_id: agent.id, scopes: made.scopes, expires: made.expiresAt !== null },
        ...(made.issuedByTokenId !== null && { issued_by: made.issuedByTokenId }),
      },
    }
  })
