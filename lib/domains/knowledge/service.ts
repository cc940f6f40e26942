import { setImmediate } from 'node:timers/promises'
import type { z } from 'zod'
import { withdrawAnswers } from '#lib/domains/idempotency/writes.ts'
import { namesWarned } from '#lib/domains/pii/named-fields.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { guardRecord } from '#lib/kernel/authorise.ts'
import type { Actor, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { sharedQuestion } from '#lib/kernel/shared-query.ts'
import { maxMembers, refuseUnstorable } from '#lib/kernel/storable.ts'
import { issuesOf, mutation, read } from '#lib/kernel/use-case.ts'
import { type BatchResult, contributeBatch, eraseUnit, readUnit, rectifyUnit } from './contract.ts'
import {
  awardStored,
  type ContributionParts,
  checking,
  contribution,
  contributorOf,
  type PreparedUnit,
  prepareUnit,
  quarantinedForReview,
  refuseOthers,
  type StorableUnit,
  type Storage,
  type StorageOptions,
  storeUnits,
} from './contribution.ts'
import { eraseRow } from './erasure/erase-record.ts'
import { lockErasableUnit } from './erasure/records/repository.ts'
import { expertsOfStoredVersions } from './erasure/repository.ts'
import { changedPaths, isJsonObject, type JsonMembers, mergePatch } from './merge-patch.ts'
import { reporting, review } from './moderation/service.ts'
import {
  type ChosenIdPorts,
  countRejections,
  idErased,
  idProblem,
  isUnderReview,
  recordingRejection,
  refusedIds,
  rejectionOf,
  unitIdInUse,
} from './refusals.ts'
import {
  lockCorrectableUnit,
  rewriteCurrentVersion,
  rewriteUnit,
  type UnitRequest,
  type UnitRow,
  visibleUnits,
} from './repository.ts'
import { noveltyAtFirst, qualityOf, scoreOf } from './rules.ts'
import {
  erasedOrNotFound,
  etagOf,
  type KnowledgeDeps,
  knowledgeReaderOf,
  namedAfterCommit,
  passes,
  shown,
} from './stored-unit.ts'
import { Unit } from './unit.ts'
import { dropVotes, voting } from './votes/service.ts'

/** Maximum number of issues reported per rejected item. */
const maxIssues = 20

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
  const maxBytes = refuseUnstorable(item, maxMembers)
  if (maxBytes > unitBytes && Buffer.byteLength(JSON.stringify(item)) > unitBytes) throw tooLarge(unitBytes)
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
  problem: { code, detail: detail ?? title, ...(issues && { issues: issues.slice(0, maxIssues) }) },
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
async function decideOn(items: readonly Item[], bounds: Bounds, places: Map<string, number>): Promise<ValidatedUnit> {
  const decided: ValidatedUnit = { units: [], refusals: [], stages: [] }
  let decidedBytes = turn
  for (const { index, item, id } of items) {
    if (decidedBytes >= turn) {
      decidedBytes = 0
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
      decidedBytes += unit.json.length
      places.set(unit.id, index)
      decided.units.push({ ...unit, index })
    } catch (error) {
      if (SanitizationError.is(error)) decided.stages.push(error.stage)
      const problem = SanitizationError.is(error) ? rejectionOf(error) : error
      if (!Problem.is(problem)) throw error
      decided.refusals.push(refused(index, problem))
    }
  }
  return decided
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
async function decideAndStore(tx: Transaction, items: readonly unknown[], bounds: Bounds, contributor: Contributor) {
  const places = new Map<string, number>()
  const all: ValidatedUnit = { units: [], refusals: [], stages: [] }
  const outcomes: Storage[] = []
  let before: ValidatedUnit | undefined
  for (const part of [...partsOf(items), []]) {
    const [storing, decided] = await Promise.all([
      before && storePart(tx, before, contributor),
      decideOn(part, bounds, places),
    ])
    if (storing) outcomes.push(storing)
    if (before) {
      all.units.push(...before.units)
      all.refusals.push(...before.refusals)
      all.stages.push(...before.stages)
    }
    before = decided
  }
  const union = (name: keyof Storage) => new Set(outcomes.flatMap((outcome) => [...outcome[name]]))
  return { ...all, stored: union('stored'), quarantined: union('quarantined'), erased: union('erased') }
}

/** Contributes many units in one transaction: reports each rejected unit and stores the others; with `atomic`, all or none. */
function batch({ db, strict, names, chosenIds }: ContributionParts) {
  const keepCount = (author: string, now: Date, stages: readonly string[]) => () =>
    db.transaction((tx) => countRejections(tx, author, now, stages))

  return mutation(contributeBatch, async ({ tx, now, actor }, { body: { units: items }, query }) => {
    const { author, organisationId } = contributorOf({ actor })
    const { unitBytes, batch: max } = actor.quota
    if (items.length > max)
      throw new Problem('too_large', {
        detail: `You sent ${items.length.toLocaleString('en')} units; your tier allows ${max.toLocaleString('en')} per batch. Nothing was stored. Send them in several batches.`,
        extensions: { limit: max },
      })
    const bounds = { author, strict, unitBytes }
    const made = await decideAndStore(tx, items, bounds, { organisationId, now, actor, chosenIds })
    const { units, refusals, stages, stored, quarantined, erased } = made
    const retained = units.filter(({ id }) => stored.has(id))
    for (const { index, id } of units)
      if (!stored.has(id))
        refusals.push(
          refused(index, erased.has(id) ? new Problem('erased', idErased) : new Problem('id_in_use', unitIdInUse), id),
        )
    const isAtomic = query.atomic === 'true'
    const notAlone = new Problem('batch_rejected', 'This unit is valid, but another unit of the batch was rejected.')
    const reported = ({ id, warnings }: { id: string; warnings: readonly string[] }) =>
      quarantined.has(id) ? [...warnings, quarantinedForReview] : [...warnings]
    const accepted = retained.map(({ index, id, quality, warnings, sanitizedPlaces }): BatchResult => {
      if (isAtomic && refusals.length > 0) return refused(index, notAlone)
      const all = reported({ id, warnings })
      return {
        index,
        status: 201,
        id,
        quality_score: quality,
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
    await awardStored(tx, author, retained, { stored, quarantined }, now)
    const body = { data: results, stored: retained.length, failed: refusals.length }
    return {
      body,
      ...(names && {
        afterCommit: async () => {
          const warned = await namesWarned(
            names,
            retained.map((unit) => ({ value: unit.document, found: unit.found, warnings: reported(unit) })),
          )
          const byId = new Map(retained.map(({ id }, at) => [id, warned[at] ?? []]))
          const data = results.map((result) => {
            const warnings = result.status === 201 ? byId.get(result.id ?? '') : undefined
            return { ...result, ...(warnings && warnings.length > 0 && { warnings }) }
          })
          return { body: { ...body, data } }
        },
      }),
      resourceId: newId('batch'),
      entries: retained.map(({ id, type, visibility, sanitized }) => ({
        resourceId: id,
        details: { type, visibility, sanitized },
      })),
    }
  })
}

/** Maximum number of paths in an audit entry. */
const maxNamed = 50

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
  const max = actor.quota.unitBytes
  const bytes = Buffer.byteLength(after.json)
  if (bytes > max && bytes > Buffer.byteLength(JSON.stringify(before)))
    throw new Problem(
      'too_large',
      `With this correction, the unit is larger than the ${max.toLocaleString('en')} bytes that your tier allows. The unit was not changed.`,
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
const rectification = ({ db, erasures, strict, names }: KnowledgeDeps) =>
  mutation(rectifyUnit, async (ctx, { params: { id }, headers, body }) => {
    const { agents, isAdmin, id: actorId } = ctx.actor
    const [row] = await lockCorrectableUnit(ctx.tx, { id, agents, isAdmin })
    if (!row) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
    if (!passes(headers['if-match'], row.version))
      throw new Problem(
        'precondition_failed',
        'The unit has changed since you read it, so nothing was corrected. Read it again.',
      )
    const unit = recordingRejection(db, actorId, ctx.now, () =>
      prepareUnit(validated(corrected(row, body)), { author: row.agent_id, strict }),
    )
    guardRecord(ctx, 'publish', { isOwn: agents.includes(row.agent_id), from: row.visibility, to: unit.visibility })
    refuseLarger(ctx, row.document, unit)
    const changed = changedPaths(row.document, unit.document).sort()
    const reported = (warnings: readonly string[]) => ({
      ...(warnings.length > 0 && { warnings: [...warnings] }),
      ...(unit.sanitizedPlaces.length > 0 && { sanitized: unit.sanitizedPlaces }),
    })
    // Changing the visibility alone must not read the unit.
    const answered = ({ unit, ...rest }: ReturnType<typeof shown>) =>
      ctx.actor.can('knowledge:read') ? { ...rest, unit } : rest
    const texts = { value: unit.document, found: unit.found }
    if (changed.length === 0)
      return namedAfterCommit(names, texts, {
        body: { data: answered(shown(row)), quality_score: row.quality_score, ...reported(unit.warnings) },
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
        ...reported(isHeld ? [...unit.warnings, quarantinedForReview] : unit.warnings),
      },
      resourceId: id,
      details: { fields: changed.slice(0, maxNamed), changed: changed.length, sanitized: unit.sanitized },
      headers: { ETag: etagOf({ version, quality }) },
    })
  })

export function knowledgeService(deps: KnowledgeDeps) {
  const { db, erasures } = deps
  const visible = sharedQuestion<Omit<UnitRequest, 'n'>, UnitRow | undefined>(async (requests) => {
    const rows = await visibleUnits(db, { requests: requests.map((request, n) => ({ n, ...request })) })
    const byNumber = new Map(rows.map((row) => [row.n, row]))
    return requests.map((_, n) => byNumber.get(n))
  })
  const { list, decide } = review(deps)

  return {
    contribute: contribution(deps),
    contributeBatch: batch(deps),
    check: checking(deps),
    rectify: rectification(deps),
    validate: voting(deps),
    report: reporting(deps),
    quarantine: list,
    review: decide,

    read: read(readUnit, async (ctx, { params: { id } }) => {
      const row = await visible({ id, ...knowledgeReaderOf(ctx) })
      if (!row) throw await erasedOrNotFound(erasures, ctx, id)
      const { version, quality_score: quality } = row
      return { body: { data: shown(row) }, resourceId: id, headers: { ETag: etagOf({ version, quality }) } }
    }),

    erase: mutation(eraseUnit, async (ctx, { params: { id }, headers }) => {
      const { agents, isAdmin } = ctx.actor
      const [row] = await lockErasableUnit(ctx.tx, { id, agents, isAdmin })
      if (!row) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
      const { agent_id: author, attributed_to, original_author, version, was_public: wasPublic } = row
      guardRecord(ctx, 'erase-words', { isOwn: agents.includes(author) })
      const attributedTo = [attributed_to, original_author, ...(await expertsOfStoredVersions(ctx.tx, id))]
      return eraseRow(erasures, ctx, { kind: 'unit', id, author, attributedTo, version, wasPublic }, headers)
    }),
  }
}
