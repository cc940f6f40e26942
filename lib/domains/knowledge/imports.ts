import { z } from 'zod'
import { agentsOfOthers } from '#lib/domains/agents/queries.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Importer, ImportResult } from '#lib/kernel/importer.ts'
import { Problem, type ProblemCode } from '#lib/kernel/problem.ts'
import { hasSqlState } from '#lib/stores/postgres/fault.ts'
import { Unit, UnitId, visibilities } from './contract.ts'
import { prepareUnit, quarantinedForReview, type StorableUnit, storeUnits } from './contribution.ts'
import type { ErasedAgents } from './erasure/suppression.ts'
import { sameUnits } from './repository.ts'
import { SkillId } from './skills/contract.ts'
import { type PreparedSkill, prepareSkill } from './skills/preparation.ts'
import { rollBackImport, sameSkill, setImportSavepoint } from './skills/repository.ts'
import { maxFiles } from './skills/rules.ts'
import { insertSkill } from './skills/storage.ts'
import {
  type ChosenIdPorts,
  countRejections,
  idErased,
  idGuessable,
  knowledgeReaderOf,
  refusedIds,
  rejectionOf,
} from './stored-unit.ts'

/**
 * A unit in an export: a record of this registry's export, or the unit itself, as the open-source registry exports it. Scores and votes of
 * the other registry are not imported.
 */
const UnitRecord = z.preprocess(
  (record) => (isBare(record) ? { id: record.id, unit: record } : record),
  z.object({ id: UnitId, unit: Unit, visibility: z.enum(visibilities).optional() }),
)
const isBare = (record: unknown): record is { '@type': unknown; id?: unknown } =>
  typeof record === 'object' && record !== null && '@type' in record

/** Describes why a record does not match the export format. */
const importRefusalOf = (error: z.ZodError): Problem =>
  new Problem('invalid', {
    detail: 'The record is not valid.',
    issues: error.issues.map(({ path, message }) => ({
      path: path.map((step) => (typeof step === 'symbol' ? String(step) : step)),
      message,
    })),
  })

/** Counts an importer's rejected content against the importing agent. */
const countingRefused: Importer['countRefused'] = (tx, refused, { author, ctx }) =>
  countRejections(
    tx,
    author,
    ctx.pipeline.clock.now(),
    refused.map(({ extensions }) => String(extensions.stage)),
  )
const failed = (id: string, code: ProblemCode, detail: string) => ({ id, status: 'failed' as const, code, detail })

/**
 * Imports units of another registry under their ids. The importing agent becomes the author; the original author is stored as an unverified
 * name. Units written by an erased agent of the importing organization are rejected; any other erased agent's name is ordinary text.
 * A token of scope `admin` cannot attribute units to agents of others. Rejected content counts against the importing agent.
 */
export const unitImporter = ({
  strict,
  chosenIds,
  erasedAgents,
}: {
  strict: boolean
  chosenIds: ChosenIdPorts
  erasedAgents: ErasedAgents
}): Importer<StorableUnit> => ({
  part: 'knowledge_units',
  countRefused: countingRefused,
  prepare(record, { author, ctx }, bytes) {
    const parsed = UnitRecord.safeParse(record)
    if (!parsed.success) throw importRefusalOf(parsed.error)
    const { id, unit, visibility } = parsed.data
    if (unit.id !== undefined && unit.id !== id)
      throw new Problem('invalid', { issues: [{ path: ['unit', 'id'], message: 'must be the id of the record' }] })
    const max = ctx.actor.quota.unitBytes
    if (bytes > max && Buffer.byteLength(JSON.stringify(unit)) > max)
      throw new Problem('too_large', `Your tier allows at most ${max.toLocaleString('en')} bytes for a unit.`)
    const { agent_id: first, ...metadata } = unit.metadata
    const sent = { ...unit, id, metadata: { ...metadata, ...(visibility && { visibility }) } }
    try {
      const prepared = prepareUnit(sent, { author, strict })
      return { id, content: { ...prepared, originalAuthor: first === undefined || first === author ? null : first } }
    } catch (error) {
      throw SanitizationError.is(error) ? rejectionOf(error) : error
    }
  },
  async store(tx, records, { author, organisationId, ctx }) {
    const units = records.map(({ content }) => content)
    const { actor } = ctx
    const authors = [...new Set(units.flatMap(({ originalAuthor }) => originalAuthor ?? []))]
    const deleted = new Set(authors.length === 0 ? [] : await erasedAgents(actor, authors, tx))
    const isOfErased = ({ originalAuthor }: StorableUnit) => originalAuthor != null && deleted.has(originalAuthor)
    const others = new Set(
      authors.length > 0 && actor.scopes.includes('admin') ? await agentsOfOthers(tx, author, authors) : [],
    )
    const isOfOthers = ({ originalAuthor }: StorableUnit) => originalAuthor != null && others.has(originalAuthor)
    const ids = units.map(({ id }) => id)
    const refused = await refusedIds(chosenIds, tx, { actor, organisationId }, ids)
    const welcome = units.filter((unit) => !isOfErased(unit) && !isOfOthers(unit) && !refused.has(unit.id))
    const now = ctx.pipeline.clock.now()
    const { stored, quarantined, inUse, erased } = await storeUnits(tx, welcome, { organisationId, now })
    const present = units.filter(({ id }) => inUse.has(id) || refused.has(id))
    const same =
      present.length === 0
        ? []
        : await sameUnits(tx, {
            ...knowledgeReaderOf(ctx),
            units: present.map(({ id, document }) => ({ id, document })),
          })
    const known = new Set(same.map(({ id }) => id))
    return {
      results: units.map((unit) => {
        const { id } = unit
        if (stored.has(id))
          return { id, status: 'stored', ...(quarantined.has(id) && { detail: quarantinedForReview }) }
        if (known.has(id)) return { id, status: 'known' }
        if (isOfErased(unit)) return failed(id, 'erased', 'The author of this unit was erased from this registry.')
        if (isOfOthers(unit))
          return failed(
            id,
            'forbidden',
            'A token of scope admin cannot import units of an agent of somebody else. Use the token of that agent, or one without the scope admin.',
          )
        const refusal = refused.get(id)
        if (refusal === 'guessable') return failed(id, 'invalid', idGuessable)
        if (erased.has(id) || refusal === 'erased') return failed(id, 'erased', idErased)
        return failed(id, 'id_in_use', 'A unit with this id and other content already exists. It was not changed.')
      }),
      entries: units
        .filter(({ id }) => stored.has(id))
        .map(({ id, type, visibility, sanitized }) => ({
          resourceType: 'knowledge',
          resourceId: id,
          details: { type, visibility, sanitized },
        })),
    }
  },
})

/** A skill in an export; hashes and sizes are recomputed. */
const SkillRecord = z.object({
  id: SkillId,
  skill_md: z.string().min(1, 'must not be empty'),
  files: z
    .array(z.object({ path: z.string(), content: z.string() }))
    .max(maxFiles, `must have at most ${maxFiles} files`),
  visibility: z.enum(visibilities),
})

interface Imported {
  id: string
  skill: PreparedSkill
  visibility: (typeof visibilities)[number]
}
const erased = (id: string): ImportResult => ({
  id,
  status: 'failed',
  code: 'erased',
  detail: 'A skill with this id was erased. The id cannot be used again.',
})
const taken = (id: string): ImportResult => ({
  id,
  status: 'failed',
  code: 'id_in_use',
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
      const { skill } = prepareSkill(sent, { strict, maxBytes: ctx.actor.quota.unitBytes })
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
            id,
            status: 'failed',
            code: 'conflict',
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
          resourceType: 'skill',
          resourceId: id,
          details: { visibility, files: skill.files.length, sanitized: skill.sanitized },
        })),
    }
  },
})
