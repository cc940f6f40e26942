import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { notePurge, type RecordDeletion } from '#lib/kernel/purging.ts'
import { agentsUnderLegalHold, lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { forgetNetworks } from './networks.ts'
import { inviteRetention, unusedAfter } from './rules.ts'

const batch = 1_000

export interface AgentJobPorts {
  dropOrganisationIfEmpty(tx: Transaction, id: string): Promise<unknown>
  recordDeletion: RecordDeletion
}

/** Clean-up jobs. Registration has no rate limit, so unused agents must be deleted. */
export function agentsJobs({ dropOrganisationIfEmpty, recordDeletion }: AgentJobPorts) {
  /** Deletes a batch of unowned agents that never used a token, together with their tokens. */
  async function removeUnused(ctx: Context, tx: Transaction): Promise<number> {
    const before = new Date(ctx.now.getTime() - unusedAfter)
    // Agents in use or being claimed are locked, so they are skipped. An unowned agent with a record lost its owner to an erasure, and a
    // legal hold retains the record.
    await lockHolds(tx)
    const gone = await queryWithin<{ id: string; organisation_id: string }>(
      tx,
      'purge-unused-agents',
      `DELETE FROM agents WHERE id IN (
         SELECT id FROM agents WHERE first_used_at IS NULL AND owner_id IS NULL AND created_at < $1
           AND NOT EXISTS (SELECT FROM agent_records r WHERE r.agent_id = agents.id) AND id NOT IN (${agentsUnderLegalHold('$2')})
         ORDER BY created_at LIMIT ${batch} FOR UPDATE SKIP LOCKED)
       RETURNING id, organisation_id`,
      [before, ctx.now],
    )
    for (const id of new Set(gone.map((row) => row.organisation_id))) await dropOrganisationIfEmpty(tx, id)
    return notePurge(recordDeletion, ctx, tx, {
      what: 'agents that never used a token',
      results: { agentsDeleted: gone.length },
      resourceType: 'agent',
      resourceId: 'unused',
    })
  }

  return [
    job({
      name: 'agents.purge-unused',
      payload: z.unknown(),
      cron: '11 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeUnused(ctx, tx))) === batch);
        await ctx.pipeline.transaction((tx) => forgetNetworks(tx, ctx.now))
      },
    }),
    job({
      name: 'agents.purge-invites',
      payload: z.unknown(),
      cron: '17 3 * * *',
      async run(ctx) {
        const before = new Date(ctx.now.getTime() - inviteRetention)
        const remove = (tx: Transaction) => tx.$executeRaw`DELETE FROM invites WHERE code_hash IN (
          SELECT code_hash FROM invites WHERE expires_at < ${before} OR used_at < ${before} LIMIT ${batch})`
        while ((await ctx.pipeline.transaction(remove)) === batch);
      },
    }),
  ]
}
