import { validateUnit } from '#lib/domains/knowledge/moderation/contract.ts'
import { recordingRejection } from '#lib/domains/knowledge/moderation/rejections.ts'
import { namedAfterCommit } from '#lib/domains/knowledge/units/name-warnings.ts'
import { goneOrNotFound, type KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import { knowledgeReaderOf } from '#lib/domains/knowledge/visibility.ts'
import { personalWarnings, scanFields, secretIn } from '#lib/domains/pii/fields.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { insertVote, lockUnitForVote } from './repository.ts'
import { hashedNetwork } from './voices.ts'
import { weighVotes } from './weighing.ts'

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
    if (!row) throw await goneOrNotFound(erasures, ctx, id, tx)
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
