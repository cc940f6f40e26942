import { withdrawVotes } from '#lib/domains/knowledge/reputation/award.ts'
import { ownerKey } from '#lib/domains/knowledge/visibility.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { deleteVotesOfClaim, lockClaims, lockUnitsOfClaim } from './repository.ts'
import { moveVotes, sumsOf } from './weighing.ts'

/**
 * An owner's agents vote as one, also agents claimed after voting: their votes become the owner's. Of two votes on one unit the later is
 * deleted, and so are votes on the owner's own units, with the reputation gained by them. Call it in the claim's transaction, after the
 * owner is set. Returns the number of deleted votes.
 */
export async function mergeVotes(tx: Transaction, agent: string, account: string, now: Date): Promise<number> {
  await lockClaims(tx, { account })
  const owner = ownerKey(agent, account)
  await lockUnitsOfClaim(tx, { agent, owner })
  const deleted = await deleteVotesOfClaim(tx, { agent, owner, account })
  await tx.unitVote.updateMany({ where: { voterId: agent, ownerKey: agent }, data: { ownerKey: owner } })
  for (const [unitId, votes] of Map.groupBy(deleted, (vote) => vote.unit_id)) {
    const sums = sumsOf(votes)
    await moveVotes(tx, unitId, { for: -sums.for, against: -sums.against })
  }
  await withdrawVotes(
    tx,
    deleted.map(({ unit_id, voter_id }) => ({ subjectId: unit_id, agentId: voter_id })),
    now,
  )
  return deleted.length
}
