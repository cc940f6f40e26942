import { withdrawVotes } from '#lib/domains/knowledge/reputation/award.ts'
import { ownerKey } from '#lib/domains/knowledge/visibility.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { moveVotes, sumsOf } from './weighing.ts'

interface GoneVote {
  unit_id: string
  voter_id: string
  valid: boolean
  weight: number
}

/**
 * Locks the units that agent $1 voted on, and its own units that owner $2 voted on, with the lock that votes use, so that no vote is added
 * meanwhile.
 */
const lockUnits = `SELECT id FROM units WHERE id IN (
    SELECT unit_id FROM unit_votes WHERE voter_id = $1
    UNION SELECT v.unit_id FROM units own JOIN unit_votes v ON v.unit_id = own.id AND v.owner_key = $2 WHERE own.agent_id = $1)
  ORDER BY id FOR NO KEY UPDATE`

/**
 * Deletes votes that owner $3 could not have cast: between two of their agents, and the later of two on one unit. Votes of agent $1 have
 * the agent's id as their key; votes of the owner's other agents have $2.
 */
const deleteVotes = `DELETE FROM unit_votes d USING (
    SELECT v.unit_id, v.owner_key FROM unit_votes v JOIN units u ON u.id = v.unit_id WHERE v.voter_id = $1 AND v.owner_key = $1
      AND (EXISTS (SELECT FROM agent_owners o WHERE o.id = u.agent_id AND o.owner_id = $3)
        OR EXISTS (SELECT FROM unit_votes k WHERE k.unit_id = v.unit_id AND k.owner_key = $2 AND k.at <= v.at))
    UNION SELECT k.unit_id, k.owner_key FROM unit_votes v JOIN unit_votes k ON k.unit_id = v.unit_id AND k.owner_key = $2 AND k.at > v.at
      WHERE v.voter_id = $1 AND v.owner_key = $1
    UNION SELECT k.unit_id, k.owner_key FROM units own JOIN unit_votes k ON k.unit_id = own.id AND k.owner_key = $2 WHERE own.agent_id = $1
  ) AS g WHERE d.unit_id = g.unit_id AND d.owner_key = g.owner_key
  RETURNING d.unit_id, d.voter_id, d.valid, d.weight`

/**
 * An owner's agents vote as one, also agents claimed after voting: their votes become the owner's. Of two votes on one unit the later is
 * deleted, and so are votes on the owner's own units, with the reputation gained by them. Call it in the claim's transaction, after the
 * owner is set. Returns the number of deleted votes.
 */
export async function mergeVotes(tx: Transaction, agentId: string, ownerId: string, now: Date): Promise<number> {
  // Serializes concurrent claims by one person: the second sees the votes of the first.
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended('claims:' || ${ownerId}, 0))`
  const key = ownerKey(agentId, ownerId)
  await tx.$queryRawUnsafe(lockUnits, agentId, key)
  const gone = await tx.$queryRawUnsafe<GoneVote[]>(deleteVotes, agentId, key, ownerId)
  await tx.unitVote.updateMany({ where: { voterId: agentId, ownerKey: agentId }, data: { ownerKey: key } })
  for (const [unitId, votes] of Map.groupBy(gone, (vote) => vote.unit_id)) {
    const sums = sumsOf(votes)
    await moveVotes(tx, unitId, { for: -sums.for, against: -sums.against })
  }
  await withdrawVotes(
    tx,
    gone.map(({ unit_id, voter_id }) => ({ subjectId: unit_id, agentId: voter_id })),
    now,
  )
  return gone.length
}
