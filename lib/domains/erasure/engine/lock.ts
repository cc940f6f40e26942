import type { Transaction } from '#lib/kernel/context.ts'
import { type RunRow, runPartOf, runSubjectOf } from '../runs/runs.ts'
import { memberKey, type Suppressions } from '../suppression/suppressions.ts'
import type { EngineDeps } from './dependencies.ts'
import { raiseFences } from './repository.ts'

/**
 * Raises the write fence in one transaction. It waits for running writes for the subject; the database rejects later
 * writes.
 * Also fixes which agents belong to the run and adds the subject to the suppression list, which blocks imports of it. A
 * part of a project is marked as being erased instead. Idempotent.
 */
export async function raiseFence(
  tx: Transaction,
  run: RunRow,
  { subjects, parts, suppressions }: Pick<EngineDeps, 'subjects' | 'parts'> & { suppressions: Suppressions },
  now: Date,
): Promise<void> {
  const fencedAt = run.fencedAt ?? now
  const part = runPartOf(run)
  if (part) {
    await parts.raiseFence(tx, part, now)
    await tx.erasureRun.update({ where: { id: run.id }, data: { fencedAt } })
    return
  }
  // A replay erases only the agents and participations that existed at the time of the erasure. Later ones remain.
  const andOwned = run.fencedAt === null && run.reason !== 'replay'
  const { agents, email, participants } = await subjects.raiseFence(tx, runSubjectOf(run), { andOwned, now })
  const fenced = [
    ...(run.accountId === null ? [] : [{ kind: 'account' as const, value: run.accountId }]),
    ...agents.map((value) => ({ kind: 'agent' as const, value })),
  ]
  const raised = [...fenced, ...participants.map(({ id }) => ({ kind: 'participant' as const, value: id }))]
  // If two runs erase the same agent, the later one owns the fence; the earlier one then finds no more records.
  // Organization and registration date decide which references mean the subject, even after its row is deleted.
  await raiseFences(tx, { runId: run.id, fencedAt, fences: raised })
  const placed = await tx.writeFence.findMany({
    where: { runId: run.id, kind: 'agent', organisationId: { not: null } },
    select: { id: true, organisationId: true },
  })
  const suppressed = [
    ...fenced,
    ...placed.flatMap(({ id, organisationId }) =>
      organisationId === null ? [] : [{ kind: 'member' as const, value: memberKey(organisationId, id) }],
    ),
    ...participants.flatMap(({ key }) => (key === null ? [] : [{ kind: 'participant' as const, value: key }])),
    ...(email === null ? [] : [{ kind: 'email' as const, value: email }]),
  ]
  await suppressions.add(tx, suppressed, { runId: run.id, since: fencedAt })
  await tx.erasureRun.update({
    where: { id: run.id },
    data: { agents, participants: participants.map(({ id }) => id), fencedAt },
  })
}

export const lowerFence = async (tx: Transaction, runId: string): Promise<void> => {
  await tx.writeFence.deleteMany({ where: { runId } })
}
