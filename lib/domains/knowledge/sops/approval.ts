import type { MutationContext } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { knowledgeReaderOf, passes } from '../visibility.ts'
import { approvalOfVersion, type SopRow } from './repository.ts'
import { lockedVisibleSop, storedSop } from './rows.ts'

export interface Approved {
  row: SopRow
  version: number
  /** False if it was already approved. */
  changed: boolean
}

/**
 * Approves a version, by default the current one. The first approver stays recorded. Returns undefined if the actor cannot see the SOP.
 * @throws {Problem} `precondition_failed`; `not_found` for a version that does not exist or was private
 */
export async function approve(
  ctx: MutationContext,
  id: string,
  asked: { version?: number | undefined; ifMatch?: string | undefined },
): Promise<Approved | undefined> {
  const { tx, actor, now } = ctx
  const seen = await lockedVisibleSop(tx, id, knowledgeReaderOf(ctx))
  if (!seen) return undefined
  if (!passes(asked.ifMatch, seen.version))
    throw new Problem(
      'precondition_failed',
      'The SOP has changed since you read it, so nothing was approved. Read it again.',
    )
  const version = asked.version ?? seen.wording
  const [wording] = await approvalOfVersion(tx, { unit: id, version })
  if (!wording || (wording.visibility === 'private' && !actor.agents.includes(seen.agent_id)))
    throw new Problem(
      'not_found',
      `The SOP has no version ${version} that you can read. The newest version is ${seen.wording}.`,
    )
  if (wording.approved_at !== null) return { row: seen, version, changed: false }
  await tx.sopVersion.update({
    where: { unitId_version: { unitId: id, version } },
    data: { approvedBy: actor.id, approvedAt: now },
  })
  await tx.unit.update({ where: { id }, data: { version: { increment: 1 } } })
  return { row: await storedSop(tx, id), version, changed: true }
}
