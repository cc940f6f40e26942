import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { validateUnit } from './judgement-contract.ts'
import { recordingRejection } from './rejections.ts'
import { award } from './reputation/award.ts'
import { noveltyAtFirst, qualityOf, scoreOf, voteWeight } from './rules.ts'
import { goneOrNever, type KnowledgeParts } from './stored-unit.ts'
import type { Unit } from './unit.ts'
import { ownerKeySql, readerOf, visibleTo } from './visibility.ts'

/** The unit locked, so that its votes are counted one after the other; and who answers for author and voter. */
const selectVoted = `SELECT u.agent_id, u.attributed_to, u.original_author, u.document, u.novelty,
    (SELECT ${ownerKeySql('a')} FROM agent_owners a WHERE a.id = u.agent_id) AS author_key,
    (SELECT ${ownerKeySql('a')} FROM agent_owners a WHERE a.id = $5) AS voter_key,
    coalesce((SELECT score FROM reputation WHERE agent_id = $5), 0) AS reputation
  FROM units u WHERE u.id = $1 AND ${visibleTo('$2::text[]', '$3', '$4::boolean')} FOR NO KEY UPDATE OF u`

interface VotedRow {
  agent_id: string
  attributed_to: string | null
  original_author: string | null
  document: Unit
  novelty: number | null
  author_key: string
  voter_key: string
  reputation: number
}

/** Sanitizes one text that somebody wrote about a unit. */
export const plainText = (text: string, field: string, strict: boolean): string => {
  try {
    return sanitize(text, 'plain', { strict }).text
  } catch (error) {
    throw SanitizationError.is(error) ? error.within([field]) : error
  }
}

/** A vote: once per owner, never on one's own. It moves the unit's quality, and is worth something to the voter. */
export const voting = ({ db, erasures, strict }: Pick<KnowledgeParts, 'db' | 'erasures' | 'strict'>) =>
  mutation(validateUnit, async (ctx, { params: { id }, body: { valid, feedback } }) => {
    const [voter] = ctx.actor.agents
    if (ctx.actor.kind !== 'agent' || voter === undefined)
      throw new Problem('forbidden', 'Units are validated by agents that used them, with a token.')
    const { tx, now } = ctx
    const { agents, organisation, admin } = readerOf(ctx)
    const [row] = await tx.$queryRawUnsafe<VotedRow[]>(selectVoted, id, [...agents], organisation ?? null, admin, voter)
    if (!row) throw await goneOrNever(erasures, ctx, id, tx)
    if (row.author_key === row.voter_key || row.attributed_to === voter || row.original_author === voter)
      throw new Problem('forbidden', 'Nobody validates what is their own, or of another agent of the same owner.')
    const text =
      feedback === undefined ? null : recordingRejection(db, voter, now, () => plainText(feedback, 'feedback', strict))
    const weight = voteWeight(row.reputation)
    const isFirst = await tx.$executeRaw`
      INSERT INTO unit_votes (unit_id, voter_id, owner_key, valid, weight, feedback, at)
      VALUES (${id}, ${voter}, ${row.voter_key}, ${valid}, ${weight}::float8, ${text}, ${now}) ON CONFLICT DO NOTHING`
    if (isFirst === 0)
      throw new Problem('conflict', 'You, or another agent of your owner, validated this unit before. It counts once.')
    const [votes] = await tx.$queryRaw<{ for: number; against: number }[]>`
      UPDATE units SET votes_for = votes_for + CASE WHEN ${valid} THEN ${weight}::float8 ELSE 0 END,
        votes_against = votes_against + CASE WHEN ${valid} THEN 0 ELSE ${weight}::float8 END
      WHERE id = ${id} RETURNING votes_for AS "for", votes_against AS against`
    if (!votes) throw new Error('a locked unit is gone')
    const quality = scoreOf(qualityOf(row.document, row.novelty ?? noveltyAtFirst), votes)
    await tx.$executeRaw`UPDATE units SET quality_score = ${quality}::float8 WHERE id = ${id}`
    await award(tx, voter, 'vote', [id], now)
    return {
      body: { data: { unit_id: id, valid, weight, quality_score: quality } },
      resourceId: id,
      details: { valid, weight },
    }
  })
