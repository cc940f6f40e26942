import { award } from '#lib/domains/knowledge/reputation/award.ts'
import { noveltyAtFirst, qualityOf, scoreOf, type Votes, voteWeight } from '#lib/domains/knowledge/rules.ts'
import type { Unit } from '#lib/domains/knowledge/unit.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { bornBefore, isHeardSql, voiceSql } from './voices.ts'

const [voice, counted] = [voiceSql('v', 'v.voter_id', 'a'), voiceSql('k', 'k.voter_id', 'b')]
/**
 * Uncounted votes `v` of agents `a` that count by now ($1 is {@link bornBefore}), unless the same voice already counted on the unit. Votes
 * of erased agents are excluded.
 */
const due = `unit_votes v JOIN agent_owners a ON a.id = v.voter_id
  WHERE v.weight = 0 AND ${isHeardSql('v.voter_id', 'a', '$1')} AND NOT EXISTS (
    SELECT FROM unit_votes k LEFT JOIN agent_owners b ON b.id = k.voter_id
    WHERE k.unit_id = v.unit_id AND k.weight > 0 AND ${counted} = ${voice})`
const selectDue = `SELECT DISTINCT ON (${voice}) v.voter_id, v.owner_key, v.valid,
    coalesce((SELECT score FROM reputation r WHERE r.agent_id = v.voter_id), 0) AS reputation
  FROM ${due} AND v.unit_id = $2 ORDER BY ${voice}, v.at, v.owner_key`
const selectUnits = `SELECT DISTINCT v.unit_id AS id FROM ${due} AND v.unit_id > $2 ORDER BY 1 LIMIT 200`

interface DueVote {
  voter_id: string
  owner_key: string
  valid: boolean
  reputation: number
}
/** A vote that has just been counted. */
export interface CountedVote {
  voter: string
  valid: boolean
  weight: number
}

/** Changes the vote sums of a locked unit and recomputes its quality. Votes of erased agents stay in the sums. Returns the quality. */
export async function moveVotes(tx: Transaction, unitId: string, by: Votes): Promise<number> {
  const [row] = await tx.$queryRaw<{ document: Unit; novelty: number | null; for: number; against: number }[]>`
    UPDATE units SET votes_for = round(greatest(0, votes_for + ${by.for}::float8)::numeric, 4)::float8,
      votes_against = round(greatest(0, votes_against + ${by.against}::float8)::numeric, 4)::float8
    WHERE id = ${unitId} RETURNING document, novelty, votes_for AS "for", votes_against AS against`
  if (!row) throw new Error('a locked unit is gone')
  const quality = scoreOf(qualityOf(row.document, row.novelty ?? noveltyAtFirst), row)
  await tx.$executeRaw`UPDATE units SET quality_score = ${quality}::float8 WHERE id = ${unitId}`
  return quality
}
export const sumsOf = (votes: readonly { valid: boolean; weight: number }[]): Votes => {
  const sumOf = (is: boolean) => votes.reduce((sum, { valid, weight }) => (valid === is ? sum + weight : sum), 0)
  return { for: sumOf(true), against: sumOf(false) }
}

/**
 * Deletes the votes and the novelty of a locked unit after its text changed: votes are about the old text. Voters keep their reputation.
 * Returns the quality of the new text.
 */
export async function dropVotes(tx: Transaction, unitId: string, document: Unit): Promise<number> {
  await tx.unitVote.deleteMany({ where: { unitId } })
  const quality = qualityOf(document)
  await tx.$executeRaw`UPDATE units SET votes_for = 0, votes_against = 0, novelty = NULL, quality_score = ${quality}::float8 WHERE id = ${unitId}`
  return quality
}

/**
 * Counts the votes of a locked unit that have become countable, with the voters' current weights, and awards reputation to the voters.
 * Locks their reputations, so call it last. Returns the newly counted votes, and the quality if it changed.
 */
export async function weighVotes(
  tx: Transaction,
  unitId: string,
  now: Date,
): Promise<{ votes: CountedVote[]; quality: number | undefined }> {
  const found = await tx.$queryRawUnsafe<DueVote[]>(selectDue, bornBefore(now), unitId)
  if (found.length === 0) return { votes: [], quality: undefined }
  const votes = found
    .map(({ voter_id, owner_key, valid, reputation }) => ({
      voter: voter_id,
      ownerKey: owner_key,
      valid,
      weight: voteWeight(reputation),
    }))
    .sort((one, other) => (one.voter < other.voter ? -1 : 1))
  await tx.$executeRaw`
    UPDATE unit_votes v SET weight = w.weight
    FROM unnest(${votes.map(({ ownerKey }) => ownerKey)}::text[], ${votes.map(({ weight }) => weight)}::float8[]) AS w(owner_key, weight)
    WHERE v.unit_id = ${unitId} AND v.owner_key = w.owner_key`
  const quality = await moveVotes(tx, unitId, sumsOf(votes))
  for (const { voter } of votes) await award(tx, voter, 'vote', [unitId], now)
  return { votes, quality }
}

/** Counts votes whose waiting time is over, each unit in its own transaction. Returns the number of newly counted votes. */
export async function weighWaitingVotes(db: Database, now: Date): Promise<number> {
  let [n, last] = [0, '']
  for (;;) {
    const units = await db.query<{ id: string }>('due-votes', selectUnits, [bornBefore(now), last])
    for (const { id } of units) {
      const { votes } = await db.transaction(async (tx) => {
        // Lock in the order used by votes and claims: the agents, then the unit.
        await tx.$queryRaw`SELECT a.id FROM agent_owners a WHERE a.id IN (SELECT voter_id FROM unit_votes WHERE unit_id = ${id} AND weight = 0)
          ORDER BY a.id FOR KEY SHARE`
        await tx.$queryRaw`SELECT id FROM units WHERE id = ${id} FOR NO KEY UPDATE`
        return weighVotes(tx, id, now)
      })
      n += votes.length
    }
    const next = units.at(-1)
    if (!next) return n
    last = next.id
  }
}
