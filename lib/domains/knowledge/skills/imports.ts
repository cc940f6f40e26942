import { z } from 'zod'
import { rejectionOf } from '#lib/domains/knowledge/moderation/rejections.ts'
import { quarantinedForReview } from '#lib/domains/knowledge/units/contribution.ts'
import { countingRefused, importRefusalOf } from '#lib/domains/knowledge/units/imports.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Importer, ImportResult } from '#lib/kernel/importer.ts'
import { hasSqlState } from '#lib/stores/postgres/fault.ts'
import { type ChosenIdPorts, idGuessable, refusedIds } from '../chosen-ids.ts'
import { visibilities } from '../unit.ts'
import { knowledgeReaderOf } from '../visibility.ts'
import { SkillId } from './contract.ts'
import { type PreparedSkill, prepareSkill } from './preparation.ts'
import { rollBackImport, sameSkill, setImportSavepoint } from './repository.ts'
import { mostFiles } from './rules.ts'
import { insertSkill } from './storage.ts'

/** A skill in an export; hashes and sizes are recomputed. */
const SkillRecord = z.object({
  id: SkillId,
  skill_md: z.string().min(1, 'must not be empty'),
  files: z
    .array(z.object({ path: z.string(), content: z.string() }))
    .max(mostFiles, `must have at most ${mostFiles} files`),
  visibility: z.enum(visibilities),
})

interface Imported {
  id: string
  skill: PreparedSkill
  visibility: (typeof visibilities)[number]
}
const erased = (id: string): ImportResult => ({
  ...{ id, status: 'failed', code: 'erased' },
  detail: 'A skill with this id was erased. The id cannot be used again.',
})
const taken = (id: string): ImportResult => ({
  ...{ id, status: 'failed', code: 'id_in_use' },
  detail: 'A skill with this id and other content already exists. It was not changed.',
})

/** Imports skills of another registry under their ids; the importing agent becomes their author. */
export const skillImporter = ({
  strict,
  chosenIds,
}: {
  strict: boolean
  chosenIds: ChosenIdPorts
}): Importer<Imported> => ({
  part: 'skills',
  countRefused: countingRefused,
  prepare(record, { ctx }) {
    const parsed = SkillRecord.safeParse(record)
    if (!parsed.success) throw importRefusalOf(parsed.error)
    const { id, visibility, ...sent } = parsed.data
    try {
      const { skill } = prepareSkill(sent, { strict, mostBytes: ctx.actor.quota.unitBytes })
      return { id, content: { id, skill, visibility } }
    } catch (error) {
      throw SanitizationError.is(error) ? rejectionOf(error) : error
    }
  },
  async store(tx, records, { author, organisationId, ctx }) {
    const reader = knowledgeReaderOf(ctx)
    const now = ctx.pipeline.clock.now()
    const ids = records.map(({ id }) => id)
    const refused = await refusedIds(chosenIds, tx, { actor: ctx.actor, organisationId }, ids, 'skills')
    async function isKnown(tx: Transaction, { id, skill }: Imported): Promise<boolean> {
      const files = skill.files.map(({ path, sha256 }) => ({ path, sha256 }))
      return (await sameSkill(tx, { ...reader, id, document: skill.document, files })).length > 0
    }
    async function stored(tx: Transaction, imported: Imported): Promise<ImportResult> {
      const { id, skill, visibility } = imported
      const refusal = refused.get(id)
      if (refusal !== undefined) {
        if (await isKnown(tx, imported)) return { id, status: 'known' }
        if (refusal === 'erased') return erased(id)
        return refusal === 'in use' ? taken(id) : { id, status: 'failed', code: 'invalid', detail: idGuessable }
      }
      // An erased id makes the statement fail; the savepoint limits the rollback to this skill.
      await setImportSavepoint(tx, {})
      try {
        const placed = { id, author, organisationId, visibility, now, isImport: true }
        const made = await insertSkill(tx, skill, placed)
        if (made) return { id, status: 'stored', ...(made.isQuarantined && { detail: quarantinedForReview }) }
      } catch (error) {
        if (!hasSqlState(error, 'KP410')) throw error
        await rollBackImport(tx, {})
        return erased(id)
      }
      if (await isKnown(tx, imported)) return { id, status: 'known' }
      const isTaken = (await tx.skill.count({ where: { id } })) > 0
      return isTaken
        ? taken(id)
        : {
            ...{ id, status: 'failed', code: 'conflict' },
            detail: 'You have another skill with this name. It was not changed.',
          }
    }
    const results: ImportResult[] = []
    for (const { content } of records) results.push(await stored(tx, content))
    return {
      results,
      entries: records
        .filter((_, index) => results[index]?.status === 'stored')
        .map(({ id, content: { visibility, skill } }) => ({
          ...{ resourceType: 'skill', resourceId: id },
          details: { visibility, files: skill.files.length, sanitized: skill.sanitized },
        })),
    }
  },
})
