import { tokenScopesInOrder } from '#lib/domains/tokens/rules.ts'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { createInvite } from '../contract.ts'
import type { Grant } from '../rules.ts'

/** Id of an invitation in the audit log. The invitation code cannot be derived from it. */
export const inviteId = (hash: Uint8Array): string => `invite_${Buffer.from(hash).toString('hex').slice(0, 16)}`

/**
 * Consumes an invitation within the transaction: of two concurrent requests only one succeeds. Returns undefined if the code is not valid.
 */
export async function spendInvite(
  { tx, now }: MutationContext,
  code: string,
): Promise<(Grant & { id: string }) | undefined> {
  const codeHash = hashOf(code)
  const [spent] = await tx.invite.updateManyAndReturn({
    where: { codeHash, usedAt: null, expiresAt: { gt: now } },
    data: { usedAt: now },
  })
  return spent && { id: inviteId(codeHash), scopes: tokenScopesInOrder(spent.scopes), tier: spent.tier }
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
        data: { id, code, scopes, tier, created_at: now.toISOString(), expires_at: expiresAt.toISOString() },
        message: 'Store the code now: it is shown only once. It works once, as "invite" of POST /v1/auth/register.',
      },
      resourceId: id,
      details: { scopes, tier },
    }
  }),
})
