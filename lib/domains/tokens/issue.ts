import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { IssuedToken, IssueToken, TokenPorts } from './ports.ts'
import { hashKey, inOrder, makeKey, prefixOf, tierLimits } from './rules.ts'

/** How many of an agent's tokens work now. Exact only while the agent's row is locked. */
export const countInUse = (tx: Transaction, agentId: string, now: Date): Promise<number> =>
  tx.token.count({
    where: { agentId, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
  })

/** Stores a new token, and counts nothing. */
export async function storeToken(
  tx: Transaction,
  { agentId, name, now, expiresAt, ...spec }: Parameters<IssueToken>[1],
): Promise<IssuedToken> {
  const scopes = inOrder(spec.scopes)
  // Prefixes have 47 random bits and are unique: one that is taken is drawn again.
  for (let attempt = 0; attempt < 5; attempt++) {
    const key = makeKey()
    const made = { id: newId('tok'), prefix: prefixOf(key), createdAt: now, expiresAt, scopes }
    const { count } = await tx.token.createMany({
      data: [{ ...made, agentId, name, hash: hashKey(key) }],
      skipDuplicates: true,
    })
    if (count === 1) return { ...made, key }
  }
  throw new Problem('unavailable', {
    detail: 'No free key prefix was found. Try again.',
    headers: { 'Retry-After': '1' },
  })
}

/**
 * Issues a token to an agent, as many as its tier allows at once. It asks nobody for permission: first run and `kp admin token`
 * call it; requests go through what checks the actor. Throws `not_found` and `conflict`.
 */
export const tokenIssue =
  ({ agentOf }: Pick<TokenPorts, 'agentOf'>): IssueToken =>
  async (tx, spec) => {
    const agent = await agentOf(tx, spec.agentId, { lock: true })
    if (!agent) throw new Problem('not_found', 'There is no such agent.')
    const most = tierLimits[agent.tier].tokens
    if ((await countInUse(tx, agent.id, spec.now)) >= most)
      throw new Problem(
        'conflict',
        `An agent of the tier ${agent.tier} has ${most} active tokens at most. Revoke or rotate one.`,
      )
    return storeToken(tx, spec)
  }
