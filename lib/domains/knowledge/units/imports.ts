import { z } from 'zod'
import { type ChosenIdPorts, idErased, idGuessable, refusedIds } from '#lib/domains/knowledge/chosen-ids.ts'
import type { ErasedAgents } from '#lib/domains/knowledge/erasure/suppression.ts'
import { countRejections, rejectionOf } from '#lib/domains/knowledge/moderation/rejections.ts'
import { Unit, UnitId, visibilities } from '#lib/domains/knowledge/unit.ts'
import { knowledgeReaderOf } from '#lib/domains/knowledge/visibility.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { Importer } from '#lib/kernel/importer.ts'
import { Problem, type ProblemCode } from '#lib/kernel/problem.ts'
import { quarantinedForReview } from './contribution.ts'
import { prepareUnit } from './preparation.ts'
import { sameUnits } from './repository.ts'
import { type StorableUnit, storeUnits } from './storage.ts'

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
export const importRefusalOf = (error: z.ZodError): Problem =>
  new Problem('invalid', {
    detail: 'The record is not valid.',
    issues: error.issues.map(({ path, message }) => ({
      path: path.map((step) => (typeof step === 'symbol' ? String(step) : step)),
      message,
    })),
  })

export interface ImportDeps {
  strict: boolean
  chosenIds: ChosenIdPorts
  erasedAgents: ErasedAgents
}
/** Counts an importer's rejected content against the importing agent. */
export const countingRefused: Importer['countRefused'] = (tx, refused, { author, ctx }) =>
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
 * Rejected content counts against the importing agent.
 */
export const unitImporter = ({ strict, chosenIds, erasedAgents }: ImportDeps): Importer<StorableUnit> => ({
  part: 'knowledge_units',
  countRefused: countingRefused,
  prepare(record, { author, ctx }, bytes) {
    const parsed = UnitRecord.safeParse(record)
    if (!parsed.success) throw importRefusalOf(parsed.error)
    const { id, unit, visibility } = parsed.data
    if (unit.id !== undefined && unit.id !== id)
      throw new Problem('invalid', { issues: [{ path: ['unit', 'id'], message: 'must be the id of the record' }] })
    const most = ctx.actor.quota.unitBytes
    if (bytes > most && Buffer.byteLength(JSON.stringify(unit)) > most)
      throw new Problem('too_large', `Your tier allows at most ${most.toLocaleString('en')} bytes for a unit.`)
    const { agent_id: first, ...metadata } = unit.metadata
    const sent = { ...unit, id, metadata: { ...metadata, ...(visibility && { visibility }) } }
    try {
      const prepared = prepareUnit(sent, { author, strict })
      return { id, content: { ...prepared, originalAuthor: first === undefined || first === author ? null : first } }
    } catch (error) {
      throw SanitizationError.is(error) ? rejectionOf(error) : error
    }
  },
  async store(tx, records, { organisationId, ctx }) {
    const units = records.map(({ content }) => content)
    const { actor } = ctx
    const authors = [...new Set(units.flatMap(({ originalAuthor }) => originalAuthor ?? []))]
    const gone = new Set(authors.length === 0 ? [] : await erasedAgents(actor, authors, tx))
    const isOfErased = ({ originalAuthor }: StorableUnit) => originalAuthor != null && gone.has(originalAuthor)
    const ids = units.map(({ id }) => id)
    const refused = await refusedIds(chosenIds, tx, { actor, organisationId }, ids)
    const welcome = units.filter((unit) => !isOfErased(unit) && !refused.has(unit.id))
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
