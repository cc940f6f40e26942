import { z } from 'zod'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Telemetry } from './capture.ts'
import type { Properties } from './events.ts'
import { destroyExpiredKeys } from './repository.ts'

const completedJob = 'telemetry.erasure-completed'

/** Sends an event about a completed erasure when the completing transaction commits. It contains no id. */
export const reportCompletedErasures = (tx: Transaction, { of, steps, duration }: Properties<'erasure_completed'>) =>
  enqueue(tx, completedJob, { of, steps, duration }, { maxAttempts: 1 })

/** Destroys keys after 30 days. From then on, their events are anonymous. */
export const telemetryJobs = ({ db, telemetry }: { db: Database; telemetry: Pick<Telemetry, 'offer' | 'settled'> }) => [
  job({
    name: 'telemetry.destroy-keys',
    payload: z.unknown(),
    cron: '41 * * * *',
    async run({ now }) {
      await destroyExpiredKeys(db, { now })
    },
  }),
  job({
    name: completedJob,
    payload: z.record(z.string(), z.unknown()),
    async run(_ctx, payload) {
      telemetry.offer('erasure_completed', payload, null)
      await telemetry.settled()
    },
  }),
]
