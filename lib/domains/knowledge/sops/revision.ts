import { isDeepStrictEqual } from 'node:util'
import { isUnderReview, recordingRejection } from '#lib/domains/knowledge/moderation/rejections.ts'
import { type PreparedUnit, prepareUnit } from '#lib/domains/knowledge/units/preparation.ts'
import { dropVotes } from '#lib/domains/knowledge/votes/weighing.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Unit } from '../unit.ts'
import { passes } from '../visibility.ts'
import type { reviseSop } from './contract.ts'
import { insertVersion, lockChangeableSop, type SopRow, updateSop } from './repository.ts'
import { storedSop } from './rows.ts'

export interface Revised {
  row: SopRow
  warnings: string[]
  /** Its texts and the personal data found in them. */
  texts: { value: unknown; found: PreparedUnit['found'] }
  /** False if the text was unchanged. */
  changed: boolean
  sanitized: number
  sanitizedPlaces: PreparedUnit['sanitizedPlaces']
  /** Whether this revision put it into quarantine. */
  heldNow: boolean
}

const isOther = (field: (string | number)[], message: string) => ({ issues: [{ path: field, message }] })

/** Whether the two differ in visibility at most. */
const isSameText = (one: Unit, { metadata, ...other }: Unit): boolean =>
  isDeepStrictEqual(one, { ...other, id: one.id, metadata: { ...metadata, visibility: one.metadata.visibility } })

/**
 * Adds a version with the next number to an SOP. The row is locked, so concurrent revisions leave no gaps. Votes were for the old version
 * and are deleted, novelty is computed again, and a quarantine remains. Returns undefined if no such SOP exists that the actor may change.
 * @throws {Problem} `restricted`, `precondition_failed`, `invalid`, `forbidden`, `content_rejected`
 */
export async function revise(
  { tx, actor, now }: MutationContext,
  { params: { id }, headers, body }: Input<typeof reviseSop>,
  { db, strict }: { db: Database; strict: boolean },
): Promise<Revised | undefined> {
  const [locked] = await lockChangeableSop(tx, { id, agents: actor.agents, isAdmin: actor.isAdmin })
  if (!locked) return undefined
  if (locked.restricted)
    throw new Problem('restricted', 'Processing is restricted for the author of this SOP. The SOP was not changed.')
  if (!passes(headers['if-match'], locked.version))
    throw new Problem(
      'precondition_failed',
      'The SOP has changed since you read it, so nothing was changed. Read it again.',
    )
  if (body.id !== undefined && body.id !== id)
    throw new Problem('invalid', {
      detail: 'One field is not valid.',
      ...isOther(['id'], 'must be the id in the URL'),
    })
  const author = locked.agent_id
  if (body.metadata.agent_id !== undefined && body.metadata.agent_id !== author)
    throw new Problem('forbidden', {
      detail: 'The author of an SOP cannot be changed.',
      ...isOther(['metadata', 'agent_id'], 'is another agent'),
    })

  const unit = recordingRejection(db, actor.id, now, () => prepareUnit({ ...body, id }, { author, strict }))
  const texts = { value: unit.document, found: unit.found }
  const done = {
    ...{ warnings: unit.warnings, texts, sanitized: unit.sanitized },
    sanitizedPlaces: unit.sanitizedPlaces,
  }
  if (isDeepStrictEqual(unit.document, { ...locked.document, id }))
    return { ...done, row: await storedSop(tx, id), changed: false, heldNow: false }

  const quality = isSameText(unit.document, locked.document)
    ? locked.quality_score
    : await dropVotes(tx, id, unit.document)
  const held = locked.quarantined_at ?? ((await isUnderReview(tx, { author, actorId: actor.id }, now)) ? now : null)
  const { json: document, domain, attributedTo, visibility, search, instructions } = unit
  await updateSop(tx, {
    id,
    document,
    domain,
    attributedTo,
    visibility,
    search,
    instructions,
    quality,
    quarantinedAt: held,
    now,
  })
  await insertVersion(tx, { unit: id, document, actor: actor.id, now })
  return {
    ...done,
    row: await storedSop(tx, id),
    changed: true,
    heldNow: held !== null && locked.quarantined_at === null,
  }
}
