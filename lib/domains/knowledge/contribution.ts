import { setImmediate } from 'node:timers/promises'
import type { z } from 'zod'
import {
  type ChosenIdPorts,
  canBeGuessed,
  countRejections,
  etagOf,
  idErased,
  idProblem,
  type KnowledgeDeps,
  namesWarned,
  recordRejection,
  refusedIds,
  rejectionOf,
  unitIdInUse,
  warningsWithNames,
} from '#lib/domains/knowledge/stored-unit.ts'
import { type FieldFindings, personalWarnings, scanFields, secretIn } from '#lib/domains/pii/fields.ts'
import {
  type InstructionField,
  instructionFields,
  instructionWarnings,
  listedInstructions,
  type SanitizedPlace,
  sanitizedPlaces,
} from '#lib/domains/sanitizer/contract.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitizeFields } from '#lib/domains/sanitizer/sanitizer.ts'
import { groupCommit } from '#lib/kernel/concurrency.ts'
import type { Actor, Context, SqlRow, Statement, Transaction, UnboundAuditRecord } from '#lib/kernel/context.ts'
import { newId, newUuid } from '#lib/kernel/ids.ts'
import { maxMembers, refuseUnstorable } from '#lib/kernel/json.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { issuesOf, mutation, read, type StatementPlan, statement } from '#lib/kernel/use-case.ts'
import { hasSqlState } from '#lib/stores/postgres/fault.ts'
import { type BatchResult, checkUnit, contributeBatch, contributeUnit, idPrefix, Unit } from './contract.ts'
import { insertUnitSql, insertUnits, maxInsertedUnits, rollBackStoring, setStoringSavepoint } from './repository.ts'
import { award, awardValues } from './reputation/service.ts'
import { attributedTo, qualityOf, rejectionsToQuarantine, rejectionWindow, warningsOf } from './rules.ts'
import { searchVector, weightedTextsOf } from './search/words.ts'

export const quarantinedForReview =
  'It is quarantined for review, because several contributions were rejected within the last hour. Only you can see it until the review.'

/**
 * Returns the contributing agent and its organisation.
 * @throws {Problem} `forbidden` for people
 */
export function contributorOf({ actor }: Pick<Context, 'actor'>): { author: string; organisationId: string } {
  const { id: author, organisationId } = actor
  if (actor.kind !== 'agent' || organisationId === undefined)
    throw new Problem('forbidden', 'Only agents can contribute units and skills. Use the token of an agent.')
  return { author, organisationId }
}
/**
 * Rejects a unit that names another author.
 * @throws {Problem} `forbidden`
 */
function refuseOthers(unit: Unit, author: string): void {
  if (unit.metadata.agent_id !== undefined && unit.metadata.agent_id !== author)
    throw new Problem('forbidden', {
      detail: 'The author of a unit must be the agent of the token. Omit metadata.agent_id, or use that agent’s token.',
      issues: [{ path: ['metadata', 'agent_id'], message: 'is another agent' }],
    })
}

/** A unit ready to be stored: sanitized, scored and indexed. */
export interface PreparedUnit {
  id: string
  type: Unit['@type']
  author: string
  attributedTo: string | null
  visibility: Unit['metadata']['visibility']
  domain: string
  document: Unit
  /** The document as JSON text for the database. */
  json: string
  /** The registry's own score, 0–1. */
  quality: number
  /** A `tsvector` in text form. */
  search: string
  warnings: string[]
  /** Where the texts quote, describe or encode instructions to a model, for readers. */
  instructions: InstructionField[]
  /** Personal data in the texts of the unit. The warnings of the response mention it. */
  found: readonly FieldFindings[]
  /** Number of fields that the sanitizer changed. */
  sanitized: number
  /** Where the sanitizer changed the unit. */
  sanitizedPlaces: SanitizedPlace[]
}

/**
 * Converts a sent unit to its stored form without storing it. The author is the given agent; the id is the sender's or a new one.
 * @throws {SanitizationError} also for a private key or seed phrase
 * @throws {Problem} `invalid` if nothing remains of a required field after sanitizing
 */
export function prepareUnit(sent: Unit, { author, strict }: { author: string; strict: boolean }): PreparedUnit {
  const { value, changes, encoded, quoted } = sanitizeFields(sent, { strict })
  // Sanitizing may have emptied a required field.
  const unit = changes.length === 0 ? sent : revalidated(value)
  const found = scanFields(unit)
  const secret = secretIn(found)
  if (secret) throw secret
  const id = unit.id ?? `${idPrefix(unit['@type'])}${newUuid().replaceAll('-', '')}`
  const document = { ...unit, id, metadata: { ...unit.metadata, agent_id: author } }
  const named = changes.slice(0, 10).map(({ path }) => path.join('.'))
  return {
    id,
    type: unit['@type'],
    author,
    attributedTo: attributedTo(unit),
    visibility: unit.metadata.visibility,
    domain: unit.metadata.task_domain,
    document,
    json: JSON.stringify(document),
    quality: qualityOf(unit),
    search: searchVector(weightedTextsOf(document)),
    warnings: [
      ...warningsOf(unit),
      ...(changes.length > 0
        ? [`Markup was removed or characters were normalized in ${changes.length} field(s): ${named.join(', ')}.`]
        : []),
      ...instructionWarnings(encoded, quoted),
      ...personalWarnings(found),
    ],
    instructions: instructionFields(encoded, quoted),
    found,
    sanitized: changes.length,
    sanitizedPlaces: sanitizedPlaces(changes),
  }
}

/** The places as JSON text for the database; null if there are none. */
const storedInstructions = ({ instructions }: Pick<PreparedUnit, 'instructions'>): string | null =>
  instructions.length > 0 ? JSON.stringify(instructions) : null

function revalidated(value: unknown): Unit {
  const parsed = Unit.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map((issue) => ({
    path: issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step)),
    message: `${issue.message} (after markup was removed)`,
  }))
  throw new Problem('invalid', {
    detail: 'A required field is empty after markup was removed. Send it as plain text.',
    issues,
  })
}

export interface StorableUnit extends PreparedUnit {
  /** The author in the registry that the unit was imported from. */
  originalAuthor?: string | null
}
export interface StorageOptions {
  organisationId: string
  now: Date
}
/** Outcome per id. Ids in none of the sets were not passed in. */
export interface Storage {
  stored: Set<string>
  /** Subset of `stored`. */
  quarantined: Set<string>
  inUse: Set<string>
  erased: Set<string>
}

const inOrder = (one: { id: string }, other: { id: string }): number =>
  one.id < other.id ? -1 : one.id > other.id ? 1 : 0

/** Stores units in one statement, and once more if an erasure was committed while the statement waited for one of its ids. */
async function insert(tx: Transaction, units: readonly StorableUnit[], { organisationId, now }: StorageOptions) {
  const since = new Date(now.getTime() - rejectionWindow)
  const rows = units.map((unit) => ({
    id: unit.id,
    type: unit.type,
    attributed: unit.attributedTo,
    original: unit.originalAuthor ?? null,
    visibility: unit.visibility,
    domain: unit.domain,
    document: unit.json,
    quality: unit.quality,
    search: unit.search,
    instructions: storedInstructions(unit),
  }))
  const attempt = () =>
    insertUnits(tx, { author: units[0]?.author ?? '', organisation: organisationId, now, since }, rows)
  await setStoringSavepoint(tx, {})
  return attempt().catch(async (error: unknown) => {
    if (!hasSqlState(error, 'KP410')) throw error
    await rollBackStoring(tx, {})
    return attempt()
  })
}

/**
 * Stores prepared units of one author with distinct ids, with their search words and first SOP versions, in the caller's transaction. The
 * author must be an agent of the organisation. The caller writes audit entries and calls {@link awardStored}.
 */
export async function storeUnits(
  tx: Transaction,
  units: readonly StorableUnit[],
  options: StorageOptions,
): Promise<Storage> {
  const ordered = units.toSorted(inOrder)
  const outcomes: Awaited<ReturnType<typeof insert>> = []
  for (let start = 0; start < ordered.length; start += maxInsertedUnits)
    outcomes.push(...(await insert(tx, ordered.slice(start, start + maxInsertedUnits), options)))
  const idsOf = (is: (outcome: (typeof outcomes)[number]) => boolean) =>
    new Set(outcomes.filter(is).map(({ id }) => id))
  const stored = idsOf((outcome) => outcome.stored)
  const erased = idsOf((outcome) => outcome.erased)
  return {
    stored,
    erased,
    quarantined: idsOf((outcome) => outcome.quarantined),
    inUse: new Set(ordered.flatMap(({ id }) => (stored.has(id) || erased.has(id) ? [] : [id]))),
  }
}

/** Awards the author reputation for stored units; quarantined units earn nothing yet. Locks the author's reputation, so call it last. */
async function awardStored(
  tx: Transaction,
  author: string,
  units: readonly StorableUnit[],
  { stored, quarantined }: Pick<Storage, 'stored' | 'quarantined'>,
  now: Date,
): Promise<void> {
  const earning = units.filter(({ id }) => stored.has(id) && !quarantined.has(id))
  const idsOf = (isSop: boolean) => earning.filter(({ type }) => (type === 'ExpertSOP') === isSop).map(({ id }) => id)
  await award(tx, author, 'unit', idsOf(false), now)
  await award(tx, author, 'sop', idsOf(true), now)
}

/** Response for a unit stored at `now`. */
const contributed = (unit: PreparedUnit, quarantined: boolean, now: Date) => {
  const warnings = quarantined ? [...unit.warnings, quarantinedForReview] : unit.warnings
  return {
    data: {
      id: unit.id,
      unit: unit.document,
      visibility: unit.visibility,
      quality_score: unit.quality,
      ...listedInstructions(unit.instructions),
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    },
    quality_score: unit.quality,
    ...(warnings.length > 0 && { warnings }),
    ...(unit.sanitizedPlaces.length > 0 && { sanitized: unit.sanitizedPlaces }),
  }
}
type Contributed = ReturnType<typeof contributed>

export type ContributionParts = Pick<KnowledgeDeps, 'db' | 'strict' | 'names' | 'chosenIds'>

/** @throws {Problem} `invalid`, `id_in_use`, `erased` */
async function refuseGuessable(
  { db, chosenIds }: { db: KnowledgeDeps['db']; chosenIds: ChosenIdPorts },
  { actor }: Context,
  { id, organisationId }: { id: string; organisationId: string },
): Promise<void> {
  const refused = await db.transaction((tx) => refusedIds(chosenIds, tx, { actor, organisationId }, [id]))
  const refusal = refused.get(id)
  if (refusal) throw idProblem(refusal)
}

/** More would hold the lock of the author's reputation longer, and gain little. */
const maxShared = 16

/** A contribution that was checked but not stored. */
interface StorableContribution {
  /** The SQL statement that stores this unit alone. */
  statement: Statement
  unit: PreparedUnit
  organisationId: string
}

interface Member {
  ctx: Pick<Context, 'pipeline' | 'now'>
  planned: StorableContribution
  entry: UnboundAuditRecord | undefined
}

/**
 * Stores contributions of one agent in one transaction, each with its own audit entry. Their time is that of the last one.
 * @throws if not every unit can be stored; then none is
 */
async function storeTogether(members: readonly Member[]): Promise<SqlRow[]> {
  const last = members.at(-1)
  if (!last) return []
  const { now, pipeline } = last.ctx
  const { author } = last.planned.unit
  const { organisationId } = last.planned
  const units = members.map(({ planned }) => planned.unit)
  return pipeline.transaction(async (tx) => {
    const storage = await storeUnits(tx, units, { organisationId, now })
    if (storage.stored.size < units.length) throw new Error('not every unit of a group could be stored')
    await awardStored(tx, author, units, storage, now)
    await pipeline.auditWithin(
      tx,
      ...members.flatMap(({ entry, planned }) => (entry ? [{ ...entry, resourceId: planned.unit.id }] : [])),
    )
    return units.map(({ id }) => ({ resource_id: id, quarantined: storage.quarantined.has(id), stored_at: now }))
  })
}

/**
 * Stores a contribution whose id the registry made, together with others that the same agent sends at the same time. Ids that clients
 * choose may have to wait for another transaction with the same id, so they are not stored with others. Requests that share a slot of the
 * pool use one connection.
 */
function sharedStorage() {
  const add = groupCommit<Member, SqlRow | undefined>({
    alone: ({ ctx, planned, entry }) => ctx.pipeline.statement(planned.statement, entry),
    together: storeTogether,
    // A database that is down or too slow fails for each unit of the group, so they are not repeated one by one.
    isWorthRepeating: (error) => !(Problem.is(error) && error.code === 'unavailable'),
    max: maxShared,
    lanes: 1,
  })
  return (ctx: Context, planned: StorableContribution, entry: UnboundAuditRecord | undefined) =>
    add(`${planned.unit.author} ${planned.organisationId} ${ctx.slot ?? ''}`, { ctx, planned, entry })
}

interface PlannedContribution extends StatementPlan<Contributed>, StorableContribution {
  /** Whether the client chose the id. Only then can the id be in use, or belong to an erased record. */
  hasChosenId: boolean
}

/**
 * Stores one unit in a single statement, with an SOP's first version and the author's reputation.
 * @throws {Problem} `forbidden`, `content_rejected` (counted), `invalid`, `id_in_use`, `erased`
 */
export async function planContribution(
  { db, strict, names, chosenIds }: ContributionParts,
  ctx: Context,
  sent: Unit,
): Promise<PlannedContribution> {
  const { author, organisationId } = contributorOf(ctx)
  refuseOthers(sent, author)
  const { now } = ctx
  const prepared = await recordRejection(db, author, now, () => prepareUnit(sent, { author, strict }))
  if (sent.id !== undefined && canBeGuessed(sent.id))
    await refuseGuessable({ db, chosenIds }, ctx, { id: sent.id, organisationId })
  const warnings = await warningsWithNames(names, { ...prepared, value: prepared.document })
  const unit = { ...prepared, warnings }
  return {
    statement: {
      name: 'contribute-unit',
      ctes: insertUnitSql,
      values: [
        unit.id,
        unit.type,
        author,
        organisationId,
        unit.attributedTo,
        unit.visibility,
        unit.json,
        unit.quality,
        now,
        new Date(now.getTime() - rejectionWindow),
        rejectionsToQuarantine,
        unit.domain,
        unit.search,
        ...awardValues(unit.type === 'ExpertSOP' ? 'sop' : 'unit'),
        storedInstructions(unit),
      ],
    },
    details: { type: unit.type, visibility: unit.visibility, sanitized: unit.sanitized },
    unit,
    organisationId,
    hasChosenId: sent.id !== undefined,
    reply: ({ quarantined, stored_at: storedAt }) => ({
      body: contributed(unit, quarantined === true, storedAt instanceof Date ? storedAt : now),
      headers: {
        Location: `/v1/knowledge/${unit.id}`,
        ETag: etagOf({ version: 1, quality: unit.quality }),
      },
    }),
    nothing: async () => new Problem('id_in_use', unitIdInUse),
    translate: (error) => (hasSqlState(error, 'KP410') ? new Problem('erased', idErased) : error),
  }
}

/** Stores contributions. Concurrent ones of an agent share transactions. */
export function contribution(deps: ContributionParts) {
  const share = sharedStorage()
  return statement(
    contributeUnit,
    (ctx, { body }) => planContribution(deps, ctx, body),
    (ctx, planned, entry) => (planned.hasChosenId ? undefined : share(ctx, planned, entry)),
  )
}

/** Prepares a unit as for a contribution, and discards it. A rejection is not counted, because nothing was contributed. */
export const checking = ({ strict, names }: Pick<ContributionParts, 'strict' | 'names'>) =>
  read(checkUnit, async (ctx, { body }) => {
    const { author } = contributorOf(ctx)
    refuseOthers(body, author)
    let prepared: PreparedUnit
    try {
      prepared = prepareUnit(body, { author, strict })
    } catch (error) {
      throw SanitizationError.is(error) ? rejectionOf(error) : error
    }
    const warnings = await warningsWithNames(names, { ...prepared, value: prepared.document })
    const { quality, sanitizedPlaces } = prepared
    return {
      body: {
        data: {
          valid: true as const,
          quality_score: quality,
          warnings,
          ...(sanitizedPlaces.length > 0 && { sanitized: sanitizedPlaces }),
        },
      },
      resourceId: 'check',
    }
  })

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
export function batchContribution({ db, strict, names, chosenIds }: ContributionParts) {
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
