import type { MutationContext } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { rotateToken } from '../contract.ts'
import { mayRotate, overlapEnd, overlaps, type TokenScope, tierLimits, tokenScopesInOrder } from '../rules.ts'
import { tokenStateOf } from '../state-rules.ts'
import { endOfAdminToken, refuseEscalation } from './grant.ts'
import { countInUse, storeToken } from './issue.ts'
import { descendsFrom, type Issuer, lockIssuer, passOn } from './lineage.ts'
import {
  isByAdmin,
  type ManagementDeps,
  managedToken,
  notifyOwner,
  presentNewToken,
  tokenNotFound,
} from './managed-token.ts'

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
export const tokenRotation = (deps: ManagementDeps) =>
  mutation(rotateToken, async (ctx, { params, body }) => {
    const { agent, token } = await managedToken(deps, ctx, params)
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
      ...{ agentId: agent.id, scopes, name: old.name, expiresAt, limitKey: old.limitKey, now: ctx.now },
      issuedByAdmin: isByAdmin(ctx, agent),
      issuedByTokenId: isByAnother ? issuer.id : old.issuedByTokenId,
    })
    await passOn(ctx.tx, old.id, made.id)
    await notifyOwner(deps, ctx, agent, made)
    return {
      body: {
        data: presentNewToken(made, agent.id, old.name),
        message: `Store the key now. It is shown only once. The old key ${overlap === 0 ? 'is revoked' : `stays valid for another ${body.overlap}`}.`,
      },
      resourceId: old.id,
      details: { agent_id: agent.id, rotated_to: made.id, overlap: body.overlap },
    }
  })
