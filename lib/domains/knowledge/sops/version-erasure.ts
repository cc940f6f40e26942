import { expertsOfWordings, rejectUnderLegalHold } from '#lib/domains/knowledge/erasure/legal-holds.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { passes } from '../visibility.ts'
import { deleteVersion, lockChangeableSop } from './repository.ts'

/**
 * Erases one former version of an SOP. Returns false if no such SOP exists that the actor may change.
 * @throws {Problem} `precondition_failed`, `conflict` for the current version, `not_found`, `held`
 */
export async function eraseVersion(
  { tx, actor, now }: MutationContext,
  { id, version }: { id: string; version: number },
  ifMatch: string | undefined,
): Promise<boolean> {
  const [locked] = await lockChangeableSop(tx, { id, agents: actor.agents, isAdmin: actor.isAdmin })
  if (!locked) return false
  if (!passes(ifMatch, locked.version))
    throw new Problem(
      'precondition_failed',
      'The SOP has changed since you read it, so nothing was erased. Read it again.',
    )
  if (version === locked.wording)
    throw new Problem(
      'conflict',
      'This is the current version, so nothing was erased. Correct it with PATCH /v1/knowledge/{id}, or erase the SOP.',
    )
  const { agent_id, attributed_to, original_author } = locked
  const agents = [agent_id, attributed_to, original_author, ...(await expertsOfWordings(tx, id))]
  await rejectUnderLegalHold(tx, { kind: 'unit', id, agents }, now)
  const deleted = await deleteVersion(tx, { unit: id, version, isOwn: actor.agents.includes(agent_id) })
  if (deleted === 0)
    throw new Problem('not_found', 'The SOP has no version with this number, or you are not allowed to erase it.')
  // The erased version may have been the newest approved one, which others read with the SOP.
  await tx.unit.update({ where: { id }, data: { version: { increment: 1 } } })
  return true
}
