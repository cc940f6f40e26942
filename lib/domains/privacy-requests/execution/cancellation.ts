import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { PrivacyDeps } from '../ports.ts'
import { KindName, type RequestRow, requestSubjectOf, StateName, wasFullyRetained } from '../requests.ts'
import { isCancellable, isClosed } from '../rules.ts'
import { change, type RequestWork } from '../timeline.ts'
import { setPart, unrestrictSubject } from './request-parts.ts'

/** Returns the counts of erased items so far by store. */
async function erasedSoFar({ erasures }: PrivacyDeps, runId: string | null): Promise<Record<string, number>> {
  const run = runId === null ? undefined : await erasures.run(runId)
  const erased: Record<string, number> = {}
  for (const step of run?.steps ?? []) erased[step.store] = (erased[step.store] ?? 0) + step.erased
  return erased
}

/** Returns the problem for a request that can no longer be cancelled, with the counts of erased items. */
function tooLate(deps: PrivacyDeps, row: RequestRow): Problem {
  const state = StateName.parse(row.state)
  const isErasing = row.runId !== null && !isClosed(state)
  const problem: Problem = new Problem('wrong_state', {
    detail: isErasing
      ? 'The erasure has begun and cannot be cancelled. `erased` counts the records that are already erased.'
      : `The request is ${state.replace('_', ' ')}, so it cannot be cancelled.`,
    extensions: { state, erased: {} },
    // Counted after the transaction, because the count needs its own connection.
    afterRollback: async () => Object.assign(problem.extensions, { erased: await erasedSoFar(deps, row.runId) }),
  })
  return problem
}

/** Makes the subject's tokens work again, except those of agents for which another erasure is waiting or running. */
export async function unsuspend(deps: PrivacyDeps, work: RequestWork, row: RequestRow): Promise<void> {
  const { tx, now } = work
  const subject: Subject = await requestSubjectOf(tx, row, deps.agents)
  await deps.agents.unsuspend(tx, subject, now)
  const owner = row.agentId === null ? null : await deps.agents.ownerOf(tx, row.agentId)
  const others = await tx.privacyRequest.findMany({
    where: {
      id: { not: row.id },
      AND: [{ OR: [{ state: 'waiting' }, { runId: { not: null }, closedAt: null }] }],
      OR: [{ agentId: { in: [...subject.agents] } }, ...(typeof owner === 'string' ? [{ accountId: owner }] : [])],
    },
    include: { parts: true },
  })
  for (const other of others) {
    if (wasFullyRetained(other)) continue
    const { agents } = await requestSubjectOf(tx, other, deps.agents)
    const shared = agents.filter((id) => subject.agents.includes(id))
    await deps.agents.suspend(tx, { account: null, agents: shared }, now)
  }
}

/**
 * Cancels a locked request. Of a concurrent cancellation and start, exactly one succeeds.
 * @throws Problem `wrong_state` once the work has begun
 */
export async function cancelRequestIn(deps: PrivacyDeps, work: RequestWork, given: RequestRow): Promise<RequestRow> {
  const from = StateName.parse(given.state)
  if (!isCancellable(from)) throw tooLate(deps, given)
  let row = given
  const isObjecting = row.parts.some(({ kind, state }) => kind === 'objection' && state === 'running')
  for (const part of given.parts)
    if (part.state === 'pending' || part.state === 'running')
      row = await setPart(work, row, KindName.parse(part.kind), 'cancelled')
  if (from === 'waiting') await unsuspend(deps, work, row)
  if (isObjecting) await unrestrictSubject(deps, work, row, 'objection')
  return change(work, row, { event: 'cancelled', to: 'cancelled' })
}
