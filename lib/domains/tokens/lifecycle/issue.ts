import { hashOf } from '#lib/kernel/code-hash.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { IssueToken, NewToken, TokenPorts } from '../ports.ts'
import { endedTokenCounted, makeKey, prefixOf, tierLimits, tokenScopesInOrder } from '../rules.ts'
import { countTowardsLimit } from './repository.ts'

/** Counts an agent's active tokens. Exact only while the agent's row is locked. */
export const countInUse = (tx: Transaction, agentId: string, now: Date): Promise<number> =>
  tx.token.count({
    where: { agentId, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
  })

/** Stores a new token without checking the tier's limit. The limit key is the token's own id unless the token replaces another one. */
export async function storeToken(
  tx: Transaction,
  {
    agentId,
    name,
    now,
    expiresAt,
    limitKey,
    issuedByAdmin = false,
    issuedByTokenId = null,
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
      data: [{ ...made, agentId, limitKey: limitKey ?? made.id, name, hash: hashOf(key) }],
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
export const tokenIssue =
  ({ agentOf }: Pick<TokenPorts, 'agentOf'>): IssueToken =>
  async (tx, spec) => {
    const agent = await agentOf(tx, spec.agentId, { lock: true })
    if (!agent) throw new Problem('not_found', 'No agent with this id exists.')
    const most = tierLimits[agent.tier].tokens
    // Ended tokens count for a minute. Otherwise creating and revoking tokens repeatedly would open new rate limit windows without limit.
    const since = new Date(spec.now.getTime() - endedTokenCounted)
    const [counted] = await countTowardsLimit(tx, { agent: agent.id, now: spec.now, since })
    if ((counted?.n ?? 0) >= most)
      throw new Problem(
        'conflict',
        `An agent of the tier ${agent.tier} can have at most ${most} active tokens. A token created within the last minute also counts after it ended. Rotate a token, or revoke one and try again in a minute.`,
      )
    return storeToken(tx, spec)
  }
