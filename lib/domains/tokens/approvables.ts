import { type Approvable, approvable } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { invalid } from '#lib/kernel/problem.ts'
import { createToken, rotateToken } from './contract.ts'
import { tokenNotFound } from './lifecycle/managed-token.ts'

const listed = (scopes: readonly string[]) => scopes.join(', ')

/** Actions that create a token with the scope `admin`. */
export function tokenApprovables(
  ownerOf: (tx: Transaction, agentId: string) => Promise<string | null>,
): readonly Approvable[] {
  const subjectsOf = async (tx: Transaction, agentId: string) => {
    const owner = await ownerOf(tx, agentId)
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
          ...{ agent, token: name ?? null, scopes: listed(scopes) },
          ...{ until: until?.toISOString() ?? null, days: days ?? null },
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
