import { rectifyUnit } from '#lib/domains/knowledge/contract.ts'
import { isUnderReview, recordingRejection } from '#lib/domains/knowledge/moderation/rejections.ts'
import { noveltyAtFirst, qualityOf, scoreOf } from '#lib/domains/knowledge/rules.ts'
import { Unit } from '#lib/domains/knowledge/unit.ts'
import { etagOf, passes } from '#lib/domains/knowledge/visibility.ts'
import { dropVotes } from '#lib/domains/knowledge/votes/weighing.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import { issuesOf } from '#lib/kernel/issues.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { quarantinedForReview } from './contribution.ts'
import { changedPaths, isJsonObject, type JsonMembers, mergePatch } from './merge-patch.ts'
import { namedAfterCommit } from './name-warnings.ts'
import { type PreparedUnit, prepareUnit } from './preparation.ts'
import { lockCorrectableUnit, rewriteCurrentVersion, rewriteUnit, type UnitRow } from './repository.ts'
import { goneOrNotFound, type KnowledgeDeps, shown } from './stored-unit.ts'

/** Maximum number of paths in an audit entry. */
const mostNamed = 50

const refuseMember = (path: string[], what: string) =>
  new Problem('invalid', {
    detail: `${what} cannot be changed. Erase the unit and contribute another.`,
    issues: [{ path: ['unit', ...path], message: 'cannot be changed' }],
  })

interface Correction {
  unit?: JsonMembers | undefined
  visibility?: string | undefined
}
/**
 * Applies the correction to the document.
 * @throws {Problem} `invalid` for fields that cannot change, and if the two ways to set the visibility disagree
 */
function corrected(
  row: Pick<UnitRow, 'id' | 'document' | 'visibility'> & { agent_id: string },
  { unit = {}, visibility }: Correction,
): JsonMembers {
  const patched = mergePatch(row.document, unit)
  const { metadata } = patched
  if (patched['@type'] !== row.document['@type']) throw refuseMember(['@type'], 'The type of a unit')
  if (patched.id !== row.id) throw refuseMember(['id'], 'The id of a unit')
  if (!isJsonObject(metadata)) return patched
  if (metadata.agent_id !== row.agent_id) throw refuseMember(['metadata', 'agent_id'], 'The author of a unit')
  if (visibility === undefined) return patched
  if (metadata.visibility !== row.visibility && metadata.visibility !== visibility)
    throw new Problem('invalid', {
      detail: 'The request contains two different visibilities. Send one.',
      issues: [{ path: ['visibility'], message: 'differs from unit.metadata.visibility' }],
    })
  return { ...patched, metadata: { ...metadata, visibility } }
}

function validated(value: unknown): Unit {
  const parsed = Unit.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = issuesOf(parsed.error, ['unit'])
  throw new Problem('invalid', {
    detail: 'The corrected unit is not valid. The unit was not changed.',
    issues: issues.slice(0, 100),
  })
}

/** A correction must not exceed the size limit of contributions, but one that does not make the unit larger is always accepted. */
function refuseLarger({ actor }: MutationContext, before: Unit, after: PreparedUnit): void {
  const most = actor.quota.unitBytes
  const bytes = Buffer.byteLength(after.json)
  if (bytes > most && bytes > Buffer.byteLength(JSON.stringify(before)))
    throw new Problem(
      'too_large',
      `With this correction, the unit is larger than the ${most.toLocaleString('en')} bytes that your tier allows. The unit was not changed.`,
    )
}

/** Rewrites the row and an SOP's current version, removing its approval, which was for the old text. Quarantines the unit if `isHeld`. */
async function rewrite(
  { tx, now }: MutationContext,
  unit: PreparedUnit,
  { quality, isHeld }: { quality: number; isHeld: boolean },
): Promise<number> {
  const { id, json: document, domain, attributedTo, visibility, search, instructions } = unit
  const [row] = await rewriteUnit(tx, {
    id,
    document,
    domain,
    attributedTo,
    visibility,
    search,
    instructions,
    quality,
    isHeld,
    now,
  })
  if (!row) throw new Error('A locked unit does not exist.')
  if (unit.type === 'ExpertSOP') await rewriteCurrentVersion(tx, { unit: id, document })
  return row.version
}

/** Rectification (GDPR art. 16): incorrect data is overwritten everywhere and not kept as a former version. */
export const rectification = ({ db, erasures, strict, withdrawAnswers, names }: KnowledgeDeps) =>
  mutation(rectifyUnit, async (ctx, { params: { id }, headers, body }) => {
    const { agents, isAdmin, id: actorId } = ctx.actor
    const [row] = await lockCorrectableUnit(ctx.tx, { id, agents, isAdmin })
    if (!row) throw await goneOrNotFound(erasures, ctx, id, ctx.tx)
    if (!passes(headers['if-match'], row.version))
      throw new Problem(
        'precondition_failed',
        'The unit has changed since you read it, so nothing was corrected. Read it again.',
      )
    const unit = recordingRejection(db, actorId, ctx.now, () =>
      prepareUnit(validated(corrected(row, body)), { author: row.agent_id, strict }),
    )
    refuseLarger(ctx, row.document, unit)
    const changed = changedPaths(row.document, unit.document).sort()
    const told = (warnings: readonly string[]) => ({
      ...(warnings.length > 0 && { warnings: [...warnings] }),
      ...(unit.sanitizedPlaces.length > 0 && { sanitized: unit.sanitizedPlaces }),
    })
    // Changing the visibility alone must not read the unit.
    const answered = ({ unit, ...rest }: ReturnType<typeof shown>) =>
      ctx.actor.can('knowledge:read') ? { ...rest, unit } : rest
    const texts = { value: unit.document, found: unit.found }
    if (changed.length === 0)
      return namedAfterCommit(names, texts, {
        body: { data: answered(shown(row)), quality_score: row.quality_score, ...told(unit.warnings) },
        resourceId: id,
        details: { fields: [] },
        headers: { ETag: etagOf({ version: row.version, quality: row.quality_score }) },
      })
    // Votes judged the old text; a change of visibility does not affect them.
    const isSameText = changed.every((path) => path === 'metadata.visibility')
    const quality = isSameText
      ? scoreOf(qualityOf(unit.document, row.novelty ?? noveltyAtFirst), {
          for: row.votes_for,
          against: row.votes_against,
        })
      : await dropVotes(ctx.tx, id, unit.document)
    const isHeld = await isUnderReview(ctx.tx, { author: row.agent_id, actorId }, ctx.now)
    const version = await rewrite(ctx, unit, { quality, isHeld })
    await withdrawAnswers(ctx.tx, id)
    const after: UnitRow = {
      ...row,
      document: unit.document,
      visibility: unit.visibility,
      quality_score: quality,
      instructions: unit.instructions,
      version,
      updated_at: ctx.now,
    }
    return namedAfterCommit(names, texts, {
      body: {
        data: answered(shown(after)),
        quality_score: quality,
        ...told(isHeld ? [...unit.warnings, quarantinedForReview] : unit.warnings),
      },
      resourceId: id,
      details: { fields: changed.slice(0, mostNamed), changed: changed.length, sanitized: unit.sanitized },
      headers: { ETag: etagOf({ version, quality }) },
    })
  })
