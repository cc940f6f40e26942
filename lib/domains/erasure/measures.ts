import type { Measuring } from '#lib/kernel/measure.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { runMeasures } from './repository.ts'

const runStates = ['planning', 'erasing', 'verifying', 'held', 'done', 'failed'] as const
const stepStates = ['waiting', 'running', 'stuck'] as const
const shares = [0.5, 0.95, 1] as const

const day = 86_400_000
/** Metrics about erasures of subjects: runs and steps by state, and durations of the runs that ended within the last day. */
export const erasureMeasures = (
  db: Database,
  ledger: () => Promise<{ alterations: number; missing: number; unfinished: number }>,
): Measuring => ({
  name: 'erasures',
  async measure(now) {
    // Only runs of the last eight days: runs that a legal hold kept open for longer would distort the duration.
    const [row] = await runMeasures(db, {
      now,
      createdAfter: new Date(now.getTime() - 8 * day),
      finishedAfter: new Date(now.getTime() - day),
      shares,
    })
    const { alterations, missing, unfinished } = await ledger()
    const { runs, steps, reading, finished = 0, seconds, quantiles } = row ?? {}
    return [
      {
        name: 'kp_ledger_altered_rows',
        help: 'Rows of the erasure ledger that somebody else added, changed or removed',
        type: 'gauge',
        samples: [{ value: alterations }],
      },
      {
        name: 'kp_erasures_to_repeat',
        help: 'Erasures of the ledger that the database lacks after a restore',
        type: 'gauge',
        samples: [{ value: missing + unfinished }],
      },
      {
        name: 'kp_erasures',
        help: 'Erasures of people and agents by state',
        type: 'gauge',
        samples: runStates.map((state) => ({ labels: { state }, value: runs?.[state] ?? 0 })),
      },
      {
        name: 'kp_erasure_steps',
        help: 'Steps of unfinished erasures, by state',
        type: 'gauge',
        samples: stepStates.map((state) => ({ labels: { state }, value: steps?.[state] ?? 0 })),
      },
      {
        name: 'kp_erasure_steps_stuck',
        help: 'Stuck erasure steps that wait for an admin',
        type: 'gauge',
        samples: [{ value: steps?.stuck ?? 0 }],
      },
      {
        name: 'kp_complete_reading_seconds',
        help: 'Time since the complete reading of all stores began that has not finished; 0 if none runs',
        type: 'gauge',
        samples: [{ value: reading ?? 0 }],
      },
      {
        name: 'kp_erasure_seconds',
        help: 'Time from start to receipt, for erasures that ended within the last day',
        type: 'summary',
        samples: shares.flatMap((share, index) => {
          const value = quantiles?.[index]
          return value === undefined ? [] : [{ labels: { quantile: String(share) }, value }]
        }),
        sum: seconds ?? 0,
        count: finished,
      },
    ]
  },
})
