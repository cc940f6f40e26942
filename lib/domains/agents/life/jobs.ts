import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { agentsUnderLegalHold, lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import type { AgentJobPorts } from '../jobs.ts'
import { heartbeatsAfterRetirement } from './rules.ts'

const batch = 5_000

/** Deletes heartbeats 24 hours after an agent was retired; those under a legal hold are deleted when it ends. */
export function lifeJobs({ recordDeletion }: Pick<AgentJobPorts, 'recordDeletion'>) {
  async function removeOfDead(ctx: Context, tx: Transaction): Promise<number> {
    const before = new Date(ctx.now.getTime() - heartbeatsAfterRetirement)
    await lockHolds(tx)
    const { length: gone } = await queryWithin(
      tx,
      'purge-heartbeats',
      `DELETE FROM heartbeats WHERE seq IN (
         SELECT h.seq FROM agents a JOIN heartbeats h ON h.agent_id = a.id
         WHERE a.died_at <= $1 AND a.id NOT IN (${agentsUnderLegalHold('$2')}) LIMIT ${batch} FOR UPDATE OF h SKIP LOCKED) RETURNING 1`,
      [before, ctx.now],
    )
    return notePurge(recordDeletion, ctx, tx, {
      what: 'heartbeats of agents that died',
      results: { heartbeatsDeleted: gone },
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
