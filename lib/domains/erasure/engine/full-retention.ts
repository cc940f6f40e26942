import { participating, type RunScope } from '#lib/domains/erasure/runs/run-rules.ts'
import { type RunRow, runPartOf, runSubjectOf, scopeOf } from '#lib/domains/erasure/runs/runs.ts'
import { memberKey } from '#lib/domains/erasure/suppression/suppression-keys.ts'
import type { Suppressions } from '#lib/domains/erasure/suppression/suppressions.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { lowerFence } from './fence.ts'
import type { PlanTarget } from './plans.ts'
import { handOverFences } from './repository.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'

/**
 * Returns the scope of a run. Before the fence is raised, it contains the subject's current agents. A replay uses the
 * given subject unchanged.
 */
export async function wholeSubjectOf(
  tx: Transaction,
  run: RunRow,
  subjects: Pick<SubjectErasurePorts['subjects'], 'agentsOf' | 'participantsOf'>,
): Promise<RunScope> {
  const scope = scopeOf(run)
  if ('part' in scope || run.fencedAt !== null || run.reason === 'replay') return scope
  return {
    subject: {
      account: run.accountId,
      agents: await subjects.agentsOf(tx, scope.subject),
      ...participating(await subjects.participantsOf(tx, scope.subject)),
    },
  }
}

/** Returns true when holds cover the whole subject and nothing was erased before they were set. */
export async function isFullyRetained(tx: Transaction, runId: string, { free, kept }: PlanTarget): Promise<boolean> {
  if (free !== null || kept.length === 0) return false
  return (await tx.erasureStep.count({ where: { runId, erased: { gt: 0 } } })) === 0
}

/**
 * Lowers the fence because legal holds cover the whole subject: it can write, sign in and be imported again. What
 * another run has fenced remains fenced. A part of a project becomes readable and writable again.
 * The caller holds the lock of the run. When the hold ends, the agents of the run are determined again.
 */
export async function letGo(
  tx: Transaction,
  run: RunRow,
  { subjects, parts, suppressions }: Pick<SubjectErasurePorts, 'subjects' | 'parts'> & { suppressions: Suppressions },
  now: Date,
): Promise<void> {
  const part = runPartOf(run)
  // The request for the erasure marked the part before there was a fence.
  if (part) return parts.release(tx, part)
  if (run.fencedAt === null) return
  const left = await handOverFences(tx, { runId: run.id })
  const keys = await subjects.participantKeys(
    tx,
    left.flatMap(({ kind, id }) => (kind === 'participant' ? [id] : [])),
  )
  for (const { kind, id, organisationId, runId, since } of left) {
    const value = kind === 'participant' ? keys.get(id) : id
    if (value !== undefined) await suppressions.add(tx, [{ kind, value }], { runId, since })
    if (kind === 'agent' && organisationId !== null)
      await suppressions.add(tx, [{ kind: 'member', value: memberKey(organisationId, id) }], { runId, since })
  }
  await suppressions.forget(tx, run.id)
  await lowerFence(tx, run.id)
  const isLeft = (wanted: string, value: string) => left.some(({ kind, id }) => kind === wanted && id === value)
  const { account, agents } = runSubjectOf(run)
  await subjects.release(
    tx,
    {
      account: account === null || isLeft('account', account) ? null : account,
      agents: agents.filter((agent) => !isLeft('agent', agent)),
    },
    now,
  )
}
