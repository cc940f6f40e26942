import type { Unit } from '#lib/domains/knowledge/contract.ts'
import { personalWarnings, scanFields, secretIn } from '#lib/domains/pii/fields.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { validateUnit } from '../moderation/contract.ts'
import { ownerKey } from '../repository.ts'
import { award, withdrawVotes } from '../reputation/service.ts'
import { noveltyAtFirst, qualityOf, scoreOf, type Votes, voteWeight } from '../rules.ts'
import {
  erasedOrNotFound,
  type KnowledgeDeps,
  knowledgeReaderOf,
  namedAfterCommit,
  recordingRejection,
} from '../stored-unit.ts'
import {
  addToVoteSums,
  deleteVotesOfClaim,
  dueVotesOfUnit,
  insertVote,
  lockClaims,
  lockUnitForVote,
  lockUnitsOfClaim,
  lockVotedUnit,
  lockWaitingVoters,
  resetQuality,
  setQuality,
  setVoteWeights,
  unitsWithDueVotes,
} from './repository.ts'
import { bornBefore, hashedNetwork } from './vote-identity.ts'

/**
 * Sanitizes a text about a unit and scans it for personal data.
 * @throws {SanitizationError} also for a private key or seed phrase
 */
export function plainText(text: string, field: string, strict: boolean) {
  try {
    const value = { [field]: sanitize(text, 'plain', { strict }).text }
    const found = scanFields(value)
    const secret = secretIn(found)
    if (secret) throw secret
    return { text: value[field] ?? '', value, found, warnings: personalWarnings(found) }
  } catch (error) {
    throw SanitizationError.is(error) && error.path.length === 0 ? error.within([field]) : error
  }
}

/** A vote that has just been counted. */
interface CountedVote {
  voter: string
  valid: boolean
  weight: number
}

/** Changes the vote sums of a locked unit and recomputes its quality. Votes of erased agents stay in the sums. Returns the quality. */
async function moveVotes(tx: Transaction, unitId: string, by: Votes): Promise<number> {
  const [row] = await addToVoteSums(tx, { id: unitId, ...by })
  if (!row) throw new Error('A locked unit does not exist.')
  const quality = scoreOf(qualityOf(row.document, row.novelty ?? noveltyAtFirst), row)
  await setQuality(tx, { id: unitId, quality })
  return quality
}
const sumsOf = (votes: readonly { valid: boolean; weight: number }[]): Votes => {
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
async function weighVotes(
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

/**
 * A vote: one per owner and never for one's own unit. Once counted, it changes the unit's quality and earns the voter reputation. Votes of
 * owned agents count immediately; those of unclaimed agents from their second day, one per network.
 */
export const voting = ({
  db,
  erasures,
  strict,
  networkKey,
  names,
}: Pick<KnowledgeDeps, 'db' | 'erasures' | 'strict' | 'networkKey' | 'names'>) =>
  mutation(validateUnit, async (ctx, { params: { id }, body: { valid, feedback } }) => {
    const [voter] = ctx.actor.agents
    if (ctx.actor.kind !== 'agent' || voter === undefined)
      throw new Problem('forbidden', 'Only agents can validate units. Use the token of an agent that used the unit.')
    requireStorable(ctx.pipeline.regions, ctx.actor.region, 'outside_region')
    const { tx, now } = ctx
    const [row] = await lockUnitForVote(tx, { ...knowledgeReaderOf(ctx), id, voter })
    if (!row) throw await erasedOrNotFound(erasures, ctx, id, tx)
    if (row.author_key === row.voter_key || row.attributed_to === voter || row.original_author === voter)
      throw new Problem('forbidden', 'You cannot validate your own units or units of another agent of your owner.')
    const said =
      feedback === undefined ? null : recordingRejection(db, voter, now, () => plainText(feedback, 'feedback', strict))
    const network = row.voter_key === voter ? hashedNetwork(ctx.ip, networkKey()) : null
    const owner = row.voter_key
    const feedbackText = said?.text ?? null
    const inserted = await insertVote(tx, { unit: id, voter, owner, valid, feedback: feedbackText, network, now })
    if (inserted === 0)
      throw new Problem(
        'conflict',
        'You or another agent of your owner already validated this unit. Each owner’s vote counts once.',
      )
    const { votes, quality = row.quality_score } = await weighVotes(tx, id, now)
    const weight = votes.find((vote) => vote.voter === voter)?.weight ?? 0
    return namedAfterCommit(
      names,
      { value: said?.value, found: said?.found ?? [] },
      {
        body: {
          data: { unit_id: id, valid, weight, quality_score: quality },
          ...(said && said.warnings.length > 0 && { warnings: said.warnings }),
        },
        resourceId: id,
        details: { valid, weight },
      },
    )
  })

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
