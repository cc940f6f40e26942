import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import { type RetentionService, resumeJob } from './service.ts'

export const sweepJob = 'retention.sweep'

export const retentionJobs = (retention: RetentionService) => [
  job({ name: sweepJob, payload: z.unknown(), cron: '13 * * * *', run: () => retention.sweepByClock() }),
  job({
    name: resumeJob,
    payload: z.strictObject({ sweepId: z.string() }),
    run: (_ctx, { sweepId }) => retention.resume(sweepId),
  }),
]
