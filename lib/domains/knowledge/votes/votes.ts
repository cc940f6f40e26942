import { validateUnit } from '#lib/domains/knowledge/moderation/contract.ts'
import { recordingRejection } from '#lib/domains/knowledge/moderation/rejections.ts'
import { namedAfterCommit } from '#lib/domains/knowledge/units/name-warnings.ts'
import { goneOrNotFound, type KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import { knowledgeReaderOf, ownerKeySql, visibleTo } from '#lib/domains/knowledge/visibility.ts'
import { personalWarnings, scanFields, secretIn } from '#lib/domains/pii/fields.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { hashedNetwork } from './voices.ts'
import { weighVotes } from './weighing.ts'

/**
 * Locks the unit, so that its votes are counted one after another, and the agents of author and voter, so that neither is claimed before
 * the vote is stored.
 */
const selectVoted = `SELECT u.agent_id, u.attributed_to, u.original_author, u.quality_score,
    (SELECT ${ownerKeySql('a')} FROM agent_owners a WHERE a.id = u.agent_id FOR KEY SHARE) AS author_key,
    (SELECT ${ownerKeySql('a')} FROM agent_owners a WHERE a.id = $5 FOR KEY SHARE) AS voter_key
  FROM units u WHERE u.id = $1 AND ${visibleTo('$2::text[]', '$3', '$4::boolean')} FOR NO KEY UPDATE OF u`

interface VotedRow {
  agent_id: string
  attributed_to: string | null
  original_author: string | null
  quality_score: number
  author_key: string
  voter_key: string
}

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
      throw new Problem('forbidden', 'Units are validated by agents that used them, with a token.')
    requireStorable(ctx.pipeline.regions, ctx.actor.region, 'outside_region')
    const { tx, now } = ctx
    const { agents, organisation, admin } = knowledgeReaderOf(ctx)
    const [row] = await tx.$queryRawUnsafe<VotedRow[]>(selectVoted, id, [...agents], organisation ?? null, admin, voter)
    if (!row) throw await goneOrNotFound(erasures, ctx, id, tx)
    if (row.author_key === row.voter_key || row.attributed_to === voter || row.original_author === voter)
      throw new Problem('forbidden', 'Nobody validates what is their own, or of another agent of the same owner.')
    const said =
      feedback === undefined ? null : recordingRejection(db, voter, now, () => plainText(feedback, 'feedback', strict))
    const network = row.voter_key === voter ? hashedNetwork(ctx.ip, networkKey()) : null
    const isFirst = await tx.$executeRaw`
      INSERT INTO unit_votes (unit_id, voter_id, owner_key, valid, weight, feedback, network, at)
      VALUES (${id}, ${voter}, ${row.voter_key}, ${valid}, 0, ${said?.text ?? null}, ${network}, ${now}) ON CONFLICT DO NOTHING`
    if (isFirst === 0)
      throw new Problem('conflict', 'You, or another agent of your owner, validated this unit before. It counts once.')
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
