import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { ErasureService } from './service.ts'

export const erasureJobs = (erasures: ErasureService) => [
  job({
    name: erasures.finishJob,
    payload: z.strictObject({ receiptId: z.string() }),
    async run(_ctx, { receiptId }) {
      await erasures.finish(receiptId)
    },
  }),
]
