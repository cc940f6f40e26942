import { personalWarnings, scanFields, secretIn } from '#lib/domains/pii/fields.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { validateUnit } from '../moderation/contract.ts'
import { recordingRejection } from '../moderation/rejections.ts'
import { withdrawVotes } from '../reputation/award.ts'
import { erasedOrNotFound, type KnowledgeDeps, namedAfterCommit } from '../units/stored-unit.ts'
import { knowledgeReaderOf, ownerKey } from '../visibility.ts'
import { deleteVotesOfClaim, insertVote, lockClaims, lockUnitForVote, lockUnitsOfClaim } from './repository.ts'
import { hashedNetwork } from './vote-identity.ts'
import { moveVotes, sumsOf, weighVotes } from './weighing.ts'

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
