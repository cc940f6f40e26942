import { z } from 'zod'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { countNeedingAttention } from '#lib/domains/privacy-requests/queue/repository.ts'
import { notifyAdminJob } from '#lib/domains/privacy-requests/timeline.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'

/** Enqueues an email to every admin with the number of requests; one waiting job for an admin is enough. */
export async function notifyAdmins({ people }: Pick<PrivacyDeps, 'people'>, tx: Transaction): Promise<void> {
  for (const { accountId } of await people.adminContacts(tx))
    await enqueue(tx, notifyAdminJob, { accountId }, { key: `${notifyAdminJob}:${accountId}`, maxAttempts: 12 })
}

/** Once a day, one email to every admin while requests are nearly due, overdue or failed. */
export const adminDigest = (deps: Pick<PrivacyDeps, 'people' | 'db'>) =>
  job({
    name: 'privacy.admin-digest',
    payload: z.unknown(),
    cron: '0 6 * * *',
    // A worker that is restarted at that time sends it late instead of a day later.
    catchUp: 12 * 3_600_000,
    async run(ctx) {
      const [counts] = await countNeedingAttention(deps.db, { now: ctx.now })
      if (!counts || counts.near + counts.overdue + counts.failed === 0) return
      await ctx.pipeline.transaction((tx) => notifyAdmins(deps, tx))
    },
  })
