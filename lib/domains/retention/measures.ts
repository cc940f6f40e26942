import type { Measuring } from '#lib/kernel/measure.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { measureSweeps } from './repository.ts'

const day = 86_400_000

/** Metrics: when the last sweep ended, and totals of the sweeps of the last day. */
export const retentionMeasures = (db: Database): Measuring => ({
  name: 'retention',
  async measure(now) {
    const [row] = await measureSweeps(db, { since: new Date(now.getTime() - day) })
    const gauge = (name: `kp_${string}`, help: string, value: number) =>
      ({ name, help, type: 'gauge', samples: [{ value }] }) as const
    return [
      ...(row?.finished_at
        ? [
            gauge(
              'kp_retention_last_sweep_timestamp_seconds',
              'End of the last completed retention sweep',
              row.finished_at.getTime() / 1000,
            ),
          ]
        : []),
      gauge('kp_retention_sweeps', 'Retention sweeps started within the last day', row?.sweeps ?? 0),
      gauge(
        'kp_retention_sweeps_interrupted',
        'Retention sweeps of the last day that were interrupted',
        row?.interrupted ?? 0,
      ),
      gauge(
        'kp_retention_deleted',
        'Units and skills deleted by the retention sweeps of the last day',
        row?.deleted ?? 0,
      ),
      gauge(
        'kp_retention_held',
        'Expired units and skills that the last sweep retained under a legal hold',
        row?.held ?? 0,
      ),
    ]
  },
})
