import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { award } from '../reputation/award.ts'
import { noveltyAtFirst, qualityOf, scoreOf, type Votes, voteWeight } from '../rules.ts'
import type { Unit } from '../unit.ts'
import {
  addToVoteSums,
  dueVotesOfUnit,
  lockVotedUnit,
  lockWaitingVoters,
  resetQuality,
  setQuality,
  setVoteWeights,
  unitsWithDueVotes,
} from './repository.ts'
import { bornBefore } from './vote-identity.ts'

/** A vote that has just been counted. */
export interface CountedVote {
  voter: string
  valid: boolean
  weight: number
}

/** Changes the vote sums of a locked unit and recomputes its quality. Votes of erased agents stay in the sums. Returns the quality. */
export async function moveVotes(tx: Transaction, unitId: string, by: Votes): Promise<number> {
  const [row] = await addToVoteSums(tx, { id: unitId, ...by })
  if (!row) throw new Error('A locked unit does not exist.')
  const quality = scoreOf(qualityOf(row.document, row.novelty ?? noveltyAtFirst), row)
  await setQuality(tx, { id: unitId, quality })
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
  await resetQuality(tx, { id: unitId, quality })
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
  const found = await dueVotesOfUnit(tx, { oldEnough: bornBefore(now), unit: unitId })
  if (found.length === 0) return { votes: [], quality: undefined }
  const votes = found
    .map(({ voter_id, owner_key, valid, reputation }) => ({
      voter: voter_id,
      ownerKey: owner_key,
      valid,
      weight: voteWeight(reputation),
    }))
    .sort((one, other) => (one.voter < other.voter ? -1 : 1))
  await setVoteWeights(tx, {
    unit: unitId,
    owners: votes.map(({ ownerKey }) => ownerKey),
    weights: votes.map(({ weight }) => weight),
  })
  const quality = await moveVotes(tx, unitId, sumsOf(votes))
  for (const { voter } of votes) await award(tx, voter, 'vote', [unitId], now)
  return { votes, quality }
}

/** Counts votes whose waiting time is over, each unit in its own transaction. Returns the number of newly counted votes. */
export async function weighWaitingVotes(db: Database, now: Date): Promise<number> {
  let [n, last] = [0, '']
  for (;;) {
    const units = await unitsWithDueVotes(db, { oldEnough: bornBefore(now), after: last })
    for (const { id } of units) {
      const { votes } = await db.transaction(async (tx) => {
        // Lock in the order used by votes and claims: the agents, then the unit.
        await lockWaitingVoters(tx, { unit: id })
        await lockVotedUnit(tx, { id })
        return weighVotes(tx, id, now)
      })
      n += votes.length
    }
    const next = units.at(-1)
    if (!next) return n
    last = next.id
  }
}
