import type { Transaction } from '#lib/kernel/context.ts'
import type { SubjectErasures } from '#lib/kernel/erasure-run.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { dropThread } from './contract.ts'
import { checkpointsHolderName } from './holder.ts'
import { decidedThread, itemsOfThread } from './items.ts'

export interface DroppingPorts {
  erasures: Pick<SubjectErasures, 'byAudit' | 'lock' | 'retry' | 'run'>
  /** Of what a holder has still to erase in a run: items that begin so become another. Gives how many. */
  replaceItems(tx: Transaction, which: { runId: string; holder: string; prefix: string; item: string }): Promise<number>
}

/** An admin's choice where a thread cannot be rewritten: the plan changes, and the step itself does it, as it does everything. */
export function threadDropping({ erasures, replaceItems }: DroppingPorts) {
  return {
    drop: mutation(dropThread, async ({ tx, now }, { params: { id: auditId, threadId } }) => {
      const known = await erasures.byAudit(auditId, tx)
      if (!known) throw new Problem('not_found', 'There is no such erasure.')
      await erasures.lock(tx, known.id)
      const run = await erasures.run(known.id, tx)
      const step = run?.steps.find(({ holder }) => holder === checkpointsHolderName)
      if (step?.state !== 'stuck')
        throw new Problem(
          'not_stuck',
          'The erasure is not stuck at the checkpoints, so no thread was deleted. A thread can be deleted only after its step is stuck. Read the steps at GET /api/erasures/{id}.',
        )
      const which = { runId: known.id, holder: checkpointsHolderName }
      const items = await replaceItems(tx, { ...which, prefix: itemsOfThread(threadId), item: decidedThread(threadId) })
      if (items === 0) throw new Problem('not_found', 'This erasure has nothing left to do in such a thread.')
      await erasures.retry(tx, known.id, checkpointsHolderName, now)
      return {
        body: { data: { audit_id: auditId, thread_id: threadId, items } },
        resourceId: auditId,
        // The thread's name is its application's choice, and the log is kept for years.
        details: { items },
      }
    }),
  }
}
