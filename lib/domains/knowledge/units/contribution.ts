import { type ChosenIdPorts, idErased, idProblem, refusedIds, unitIdInUse } from '#lib/domains/knowledge/chosen-ids.ts'
import { checkUnit, contributeUnit } from '#lib/domains/knowledge/contract.ts'
import { canBeGuessed } from '#lib/domains/knowledge/guessable-ids.ts'
import { recordRejection, rejectionOf } from '#lib/domains/knowledge/moderation/rejections.ts'
import { awardValues } from '#lib/domains/knowledge/reputation/award.ts'
import { rejectionsToQuarantine, rejectionWindow } from '#lib/domains/knowledge/rules.ts'
import type { Unit } from '#lib/domains/knowledge/unit.ts'
import { etagOf } from '#lib/domains/knowledge/visibility.ts'
import { listedInstructions } from '#lib/domains/sanitizer/contract.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { Context } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read, type StatementPlan, statement } from '#lib/kernel/use-case.ts'
import { hasSqlState } from '#lib/stores/postgres/fault.ts'
import { warningsWithNames } from './name-warnings.ts'
import { type PreparedUnit, prepareUnit, storedInstructions } from './preparation.ts'
import { insertUnitSql } from './repository.ts'
import { type StorableContribution, sharedStorage } from './shared-storage.ts'
import type { KnowledgeDeps } from './stored-unit.ts'

export const quarantinedForReview =
  'It is quarantined for review, because several contributions were rejected within the last hour. Only you can see it until the review.'

/**
 * Returns the contributing agent and its organisation.
 * @throws {Problem} `forbidden` for people
 */
export function contributorOf({ actor }: Pick<Context, 'actor'>): { author: string; organisationId: string } {
  const [author] = actor.agents
  if (actor.kind !== 'agent' || author === undefined || actor.organisationId === undefined)
    throw new Problem('forbidden', 'Only agents can contribute units and skills. Use the token of an agent.')
  return { author, organisationId: actor.organisationId }
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
export type Contributed = ReturnType<typeof contributed>

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

export interface PlannedContribution extends StatementPlan<Contributed>, StorableContribution {
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
    ...{ unit, organisationId, hasChosenId: sent.id !== undefined },
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
