import { setImmediate } from 'node:timers/promises'
import type { z } from 'zod'
import { type ChosenIdPorts, idErased, idProblem, refusedIds, unitIdInUse } from '#lib/domains/knowledge/chosen-ids.ts'
import { type BatchResult, contributeBatch } from '#lib/domains/knowledge/contract.ts'
import { countRejections, rejectionOf } from '#lib/domains/knowledge/moderation/rejections.ts'
import { Unit } from '#lib/domains/knowledge/unit.ts'
import { namesWarned } from '#lib/domains/pii/named-fields.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { issuesOf } from '#lib/kernel/issues.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mostMembers, refuseUnstorable } from '#lib/kernel/storable.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { type ContributionParts, contributorOf, quarantinedForReview, refuseOthers } from './contribution.ts'
import { prepareUnit } from './preparation.ts'
import { awardStored, type StorableUnit, type Storage, type StorageOptions, storeUnits } from './storage.ts'

/** Maximum number of issues reported per rejected item. */
const mostIssues = 20

interface Bounds {
  author: string
  strict: boolean
  unitBytes: number
}

const tooLarge = (limit: number) =>
  new Problem('too_large', `A unit can have at most ${limit.toLocaleString('en')} bytes.`)

/**
 * Prepares one item with the same checks as a single contribution.
 * @throws {Problem | SanitizationError} if a single contribution of the item would be rejected
 */
function prepared(item: unknown, { author, strict, unitBytes }: Bounds) {
  const mostBytes = refuseUnstorable(item, mostMembers)
  if (mostBytes > unitBytes && Buffer.byteLength(JSON.stringify(item)) > unitBytes) throw tooLarge(unitBytes)
  const parsed = Unit.safeParse(item)
  if (!parsed.success) throw notValid(parsed.error)
  refuseOthers(parsed.data, author)
  return prepareUnit(parsed.data, { author, strict })
}

function notValid(error: z.ZodError): Problem {
  const issues = issuesOf(error)
  return new Problem('invalid', {
    detail: `${issues.length === 1 ? 'One field is' : `${issues.length} fields are`} not valid.`,
    issues,
  })
}

const refused = (index: number, { status, code, title, detail, issues }: Problem, id?: string): BatchResult => ({
  index,
  status,
  ...(id !== undefined && { id }),
  problem: { code, detail: detail ?? title, ...(issues && { issues: issues.slice(0, mostIssues) }) },
})

interface ValidatedUnit {
  /** Units that may be stored, with their index in the batch. */
  units: (StorableUnit & { index: number })[]
  refusals: BatchResult[]
  /** Sanitizer stages that rejected content. */
  stages: string[]
}
interface Item {
  index: number
  item: unknown
  /** The id that the client sent, or an empty string. */
  id: string
}

/** Number of items prepared while the previous part is stored. */
const partSize = 25
/** Bytes of text prepared before yielding to the event loop. */
const turn = 32 * 1024

/** Splits items ordered by the ids they bring, so that concurrent batches with the same ids lock them in one order and cannot deadlock. */
function partsOf(items: readonly unknown[]): Item[][] {
  const ordered = items
    .map((item, index) => ({ index, item, id: idOf(item) }))
    .sort((one, other) => (one.id < other.id ? -1 : one.id > other.id ? 1 : one.index - other.index))
  return Array.from({ length: Math.ceil(items.length / partSize) }, (_, part) =>
    ordered.slice(part * partSize, (part + 1) * partSize),
  )
}
const idOf = (item: unknown): string =>
  typeof item === 'object' && item !== null && 'id' in item && typeof item.id === 'string' ? item.id : ''

/** Prepares items. If an id occurs twice, the first item wins; `places` maps ids to their index in the batch. */
async function judge(items: readonly Item[], bounds: Bounds, places: Map<string, number>): Promise<ValidatedUnit> {
  const judged: ValidatedUnit = { units: [], refusals: [], stages: [] }
  let judgedBytes = turn
  for (const { index, item, id } of items) {
    if (judgedBytes >= turn) {
      judgedBytes = 0
      await setImmediate()
    }
    try {
      const first = id === '' ? undefined : places.get(id)
      if (first !== undefined)
        throw new Problem('id_in_use', {
          detail: `The unit at index ${first} of this batch has the same id.`,
          issues: [{ path: ['id'], message: 'is used twice in this batch' }],
        })
      const unit = prepared(item, bounds)
      judgedBytes += unit.json.length
      places.set(unit.id, index)
      judged.units.push({ ...unit, index })
    } catch (error) {
      if (SanitizationError.is(error)) judged.stages.push(error.stage)
      const problem = SanitizationError.is(error) ? rejectionOf(error) : error
      if (!Problem.is(problem)) throw error
      judged.refusals.push(refused(index, problem))
    }
  }
  return judged
}

interface Contributor extends StorageOptions {
  actor: Actor
  chosenIds: ChosenIdPorts
}

/** Stores the units of a part, except those whose ids are refused. These move to the refusals. */
async function storePart(tx: Transaction, part: ValidatedUnit, { actor, chosenIds, ...options }: Contributor) {
  const ids = part.units.map(({ id }) => id)
  const refusals = await refusedIds(chosenIds, tx, { actor, organisationId: options.organisationId }, ids)
  for (const { index, id } of part.units) {
    const refusal = refusals.get(id)
    if (refusal) part.refusals.push(refused(index, idProblem(refusal), id))
  }
  part.units = part.units.filter(({ id }) => !refusals.has(id))
  return storeUnits(tx, part.units, options)
}

/** Prepares all items and stores the valid ones; each part is stored while the next one is prepared. */
async function judgeAndStore(tx: Transaction, items: readonly unknown[], bounds: Bounds, contributor: Contributor) {
  const places = new Map<string, number>()
  const all: ValidatedUnit = { units: [], refusals: [], stages: [] }
  const fates: Storage[] = []
  let before: ValidatedUnit | undefined
  for (const part of [...partsOf(items), []]) {
    const [storing, judged] = await Promise.all([
      before && storePart(tx, before, contributor),
      judge(part, bounds, places),
    ])
    if (storing) fates.push(storing)
    if (before) {
      all.units.push(...before.units)
      all.refusals.push(...before.refusals)
      all.stages.push(...before.stages)
    }
    before = judged
  }
  const union = (name: keyof Storage) => new Set(fates.flatMap((fate) => [...fate[name]]))
  return { ...all, stored: union('stored'), quarantined: union('quarantined'), erased: union('erased') }
}

/** Contributes many units in one transaction: reports each rejected unit and stores the others; with `atomic`, all or none. */
export function batch({ db, strict, names, chosenIds }: ContributionParts) {
  const keepCount = (author: string, now: Date, stages: readonly string[]) => () =>
    db.transaction((tx) => countRejections(tx, author, now, stages))

  return mutation(contributeBatch, async ({ tx, now, actor }, { body: { units: items }, query }) => {
    const { author, organisationId } = contributorOf({ actor })
    const { unitBytes, batch: most } = actor.quota
    if (items.length > most)
      throw new Problem('too_large', {
        detail: `You sent ${items.length.toLocaleString('en')} units; your tier allows ${most.toLocaleString('en')} per batch. Nothing was stored. Send them in several batches.`,
        extensions: { limit: most },
      })
    const bounds = { author, strict, unitBytes }
    const made = await judgeAndStore(tx, items, bounds, { organisationId, now, actor, chosenIds })
    const { units, refusals, stages, stored, quarantined, erased } = made
    const kept = units.filter(({ id }) => stored.has(id))
    for (const { index, id } of units)
      if (!stored.has(id))
        refusals.push(
          refused(index, erased.has(id) ? new Problem('erased', idErased) : new Problem('id_in_use', unitIdInUse), id),
        )
    const isAtomic = query.atomic === 'true'
    const notAlone = new Problem('batch_rejected', 'This unit is valid, but another unit of the batch was rejected.')
    const told = ({ id, warnings }: { id: string; warnings: readonly string[] }) =>
      quarantined.has(id) ? [...warnings, quarantinedForReview] : [...warnings]
    const accepted = kept.map(({ index, id, quality, warnings, sanitizedPlaces }): BatchResult => {
      if (isAtomic && refusals.length > 0) return refused(index, notAlone)
      const all = told({ id, warnings })
      return {
        ...{ index, status: 201, id, quality_score: quality },
        ...(all.length > 0 && { warnings: all }),
        ...(sanitizedPlaces.length > 0 && { sanitized: sanitizedPlaces }),
      }
    })
    const results = [...accepted, ...refusals].sort((one, other) => one.index - other.index)
    if (isAtomic && refusals.length > 0)
      throw new Problem('batch_rejected', {
        detail: `${refusals.length} of ${items.length} units were rejected, so no unit was stored.`,
        extensions: { results },
        afterRollback: keepCount(author, now, stages),
      })
    await countRejections(tx, author, now, stages)
    await awardStored(tx, author, kept, { stored, quarantined }, now)
    const body = { data: results, stored: kept.length, failed: refusals.length }
    return {
      body,
      ...(names && {
        afterCommit: async () => {
          const warned = await namesWarned(
            names,
            kept.map((unit) => ({ value: unit.document, found: unit.found, warnings: told(unit) })),
          )
          const byId = new Map(kept.map(({ id }, at) => [id, warned[at] ?? []]))
          const data = results.map((result) => {
            const warnings = result.status === 201 ? byId.get(result.id ?? '') : undefined
            return { ...result, ...(warnings && warnings.length > 0 && { warnings }) }
          })
          return { body: { ...body, data } }
        },
      }),
      resourceId: newId('batch'),
      entries: kept.map(({ id, type, visibility, sanitized }) => ({
        resourceId: id,
        details: { type, visibility, sanitized },
      })),
    }
  })
}
