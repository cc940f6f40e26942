import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Preparation } from './preparation.ts'
import { prepareJob } from './prepared.ts'
import type { ExportUpkeep } from './upkeep.ts'

export const exportJobs = (preparation: Preparation, upkeep: ExportUpkeep) => [
  job({
    name: prepareJob,
    payload: z.strictObject({ id: z.string() }),
    run: (_ctx, { id }) => preparation.run(id),
  }),
  job({ name: 'exports.upkeep', payload: z.unknown(), cron: '* * * * *', run: (ctx) => upkeep.run(ctx) }),
]
