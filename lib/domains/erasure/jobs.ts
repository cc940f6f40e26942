import { z } from 'zod'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import type { ErasureService } from './service.ts'

/** How long an erasure may stay unfinished before the hourly job takes it up again, in milliseconds. */
const overdue = 10 * 60_000

export const erasureJobs = (erasures: ErasureService) => [
  job({
    name: 'erasure.resume',
    payload: z.unknown(),
    cron: '*/10 * * * *',
    async run(ctx) {
      // One that cannot be finished now must not keep the others from it; its own job says why.
      for (const receiptId of await erasures.unfinished(new Date(ctx.now.getTime() - overdue)))
        await erasures
          .finish(receiptId)
          .catch((error: unknown) => logFault(error, { job: 'erasure.resume', receiptId }))
    },
  }),
  job({
    name: 'erasure.expire',
    payload: z.unknown(),
    cron: '41 3 * * *',
    run: (ctx) => erasures.expire(ctx.now),
  }),
  job({
    name: erasures.finishJob,
    payload: z.strictObject({ receiptId: z.string() }),
    async run(_ctx, { receiptId }) {
      await erasures.finish(receiptId)
    },
  }),
]
