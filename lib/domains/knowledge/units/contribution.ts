import { listedInstructions } from '#lib/domains/sanitizer/contract.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { Context, SqlRow, Statement, UnboundAuditRecord } from '#lib/kernel/context.ts'
import { groupCommit } from '#lib/kernel/group-commit.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read, type StatementPlan, statement } from '#lib/kernel/use-case.ts'
import { hasSqlState } from '#lib/stores/postgres/fault.ts'
import { type ChosenIdPorts, canBeGuessed, idErased, idProblem, refusedIds, unitIdInUse } from '../chosen-ids.ts'
import { checkUnit, contributeUnit } from '../contract.ts'
import { recordRejection, rejectionOf } from '../moderation/rejections.ts'
import { awardValues } from '../reputation/award.ts'
import { rejectionsToQuarantine, rejectionWindow } from '../rules.ts'
import type { Unit } from '../unit.ts'
import { etagOf } from '../visibility.ts'
import { insertUnitSql } from './repository.ts'
import { awardStored, type PreparedUnit, prepareUnit, storedInstructions, storeUnits } from './storage.ts'
import { type KnowledgeDeps, warningsWithNames } from './stored-unit.ts'

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
export function refuseOthers(unit: Unit, author: string): void {
  if (unit.metadata.agent_id !== undefined && unit.metadata.agent_id !== author)
    throw new Problem('forbidden', {
      detail: 'The author of a unit must be the agent of the token. Omit metadata.agent_id, or use that agent’s token.',
      issues: [{ path: ['metadata', 'agent_id'], message: 'is another agent' }],
    })
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
  /** Stores it alone. */
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
    // If the database is down or too slow, it is so for each of them.
    isWorthRepeating: (error) => !(Problem.is(error) && error.code === 'unavailable'),
    max: maxShared,
    lanes: 1,
  })
  return (ctx: Context, planned: StorableContribution, entry: UnboundAuditRecord | undefined) =>
    add(`${planned.unit.author} ${planned.organisationId} ${ctx.slot ?? ''}`, { ctx, planned, entry })
}

interface PlannedContribution extends StatementPlan<Contributed>, StorableContribution {
  /** Whether the client chose the id, so that it can be in use or erased. */
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
