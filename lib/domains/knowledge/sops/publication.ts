import { rejectionOf } from '#lib/domains/knowledge/moderation/rejections.ts'
import { contributorOf } from '#lib/domains/knowledge/units/contribution.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { prepareSkill } from '../skills/preparation.ts'
import { insertSkill } from '../skills/storage.ts'
import type { SopRow } from './repository.ts'
import type { SkillDocument } from './skill-document.ts'

/**
 * Stores an SOP as a skill of the caller, with the SOP's visibility. A copy never leaves its organization: an admin's agent, which can read
 * the SOPs of all organizations, can publish only public ones and those of its own. A copy of another author's work earns no reputation.
 * Returns the skill's id.
 * @throws {Problem} `scope_too_small`, `forbidden`, `conflict`, `too_large`; `content_rejected` if sanitizer rules became stricter since,
 * which is not counted as a rejection
 */
export async function publish(
  ctx: MutationContext,
  sop: SopRow,
  { name, skill_md }: SkillDocument,
  strict: boolean,
): Promise<string> {
  if (!ctx.actor.can('skills:write'))
    throw new Problem('scope_too_small', 'Publishing requires a token with the scope "write".')
  const { author, organisationId } = contributorOf(ctx)
  if (sop.visibility !== 'network' && sop.organisation_id !== organisationId)
    throw new Problem(
      'forbidden',
      'The SOP is not public and belongs to another organization, so you cannot publish a copy. Nothing was stored.',
    )
  const { skill } = prepared()
  const stored = await insertSkill(ctx.tx, skill, {
    author,
    organisationId,
    visibility: sop.visibility,
    now: ctx.now,
    isImport: author !== sop.agent_id,
  })
  if (!stored)
    throw new Problem(
      'conflict',
      `You already have a skill called "${name}", so nothing was stored. Update that skill with PATCH /v1/skills/{id}.`,
    )
  return stored.row.id

  function prepared() {
    try {
      return prepareSkill({ skill_md, files: [] }, { strict, mostBytes: ctx.actor.quota.unitBytes })
    } catch (error) {
      throw SanitizationError.is(error) ? rejectionOf(error) : error
    }
  }
}
