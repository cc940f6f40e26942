import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { AgentJobPorts } from '../jobs.ts'
import { deleteHeartbeatsOfRetired } from './repository.ts'
import { heartbeatsAfterRetirement } from './rules.ts'

const batch = 5_000

/** Deletes heartbeats 24 hours after an agent was retired; those under a legal hold are deleted when it ends. */
export function lifeJobs({ recordDeletion }: Pick<AgentJobPorts, 'recordDeletion'>) {
  async function removeOfDead(ctx: Context, tx: Transaction): Promise<number> {
    const before = new Date(ctx.now.getTime() - heartbeatsAfterRetirement)
    await lockHolds(tx)
    const heartbeatsDeleted = await deleteHeartbeatsOfRetired(tx, { before, now: ctx.now, limit: batch })
    return notePurge(recordDeletion, ctx, tx, {
      what: 'heartbeats of agents that died',
      results: { heartbeatsDeleted },
      resourceType: 'heartbeat',
      resourceId: 'of-the-dead',
    })
  }

  return [
    job({
      name: 'agents.purge-heartbeats',
      payload: z.unknown(),
      cron: '*/10 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeOfDead(ctx, tx))) === batch);
      },
    }),
  ]
}
