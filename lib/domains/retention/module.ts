import { deletionRows } from '#lib/domains/erasure/writes.ts'
import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { Counts, Expiring, Periods } from '#lib/kernel/expiring.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { adminChanges } from '#lib/stores/postgres/admin-changes.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lastSweep, measureSweeps } from './repository.ts'
import type { RetentionStores } from './retention-manager.ts'
import { periodsOf } from './rules.ts'
import { environmentPeriods, retentionJobs, retentionService } from './service.ts'

/** Retained records: who set a retention period and who requested a sweep. */
const retainedSweepRecords = (db: Database): RetainedRecord[] => [
  adminChanges(db, {
    name: 'retention.periods',
    what: 'retention periods that you set',
    table: 'retention_overrides',
    by: ['set_by'],
    at: 'set_at',
  }),
  adminChanges(db, {
    name: 'retention.shortenings',
    what: 'shorter retention periods that you set and that are not in force yet',
    table: 'retention_shortenings',
    by: ['set_by'],
    at: 'set_at',
  }),
  adminChanges(db, {
    name: 'retention.sweeps',
    what: 'retention sweeps that you started',
    table: 'retention_sweeps',
    by: ['requested_by'],
    at: 'started_at',
  }),
]

export const retentionData = (db: Database): PersonalData => ({ retainedRecords: retainedSweepRecords(db) })

const hour = 3_600_000
/** Tolerance in milliseconds: the sweep is hourly, so records that are due for longer were missed. */
const slack = 2 * hour
const longestSilence = 24 * hour

/** Checks the storage limitation (GDPR art. 5(1)(e)) of records whose retention period an admin can set. */
const retentionEvidence = ({
  expiring,
  periods,
}: {
  expiring: readonly Pick<Expiring, 'due'>[]
  periods(): Promise<Periods>
}): EvidenceCheck[] => [
  {
    line: 'storage_limitation',
    name: 'retention.expired',
    page: '/admin/retention#force',
    async ask(_query, now) {
      const inForce = await periods()
      const sum: Counts = { network: 0, org: 0, private: 0, held: 0 }
      for (const one of expiring) {
        const due = await one.due(inForce, new Date(now.getTime() - slack))
        for (const key of ['network', 'org', 'private', 'held'] as const) sum[key] += due[key]
      }
      const expired = sum.network + sum.org + sum.private
      return {
        state: failsIf(expired > 0),
        // -1: unlimited. The console shows these periods on the retention page.
        numbers: {
          expired,
          held: sum.held,
          network: inForce.network ?? -1,
          org: inForce.org ?? -1,
          private: inForce.private ?? -1,
        },
      }
    },
  },
  {
    line: 'storage_limitation',
    name: 'retention.sweep',
    page: '/admin/retention#sweeps',
    async ask(query, now) {
      const [row] = await lastSweep(query, { since: new Date(now.getTime() - longestSilence) })
      const last = row?.last ?? null
      const silence = last === null ? Number.POSITIVE_INFINITY : now.getTime() - last.getTime()
      return {
        state: silence <= slack ? 'holds' : last !== null && silence > longestSilence ? 'fails' : 'attention',
        numbers: { interrupted: row?.interrupted ?? 0, late: silence <= slack ? 0 : 1 },
        times: { last },
      }
    },
  },
]

const day = 86_400_000

/** Metrics: when the last sweep ended, and totals of the sweeps of the last day. */
const retentionMeasures = (db: Database): Measuring => ({
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

/** Retention periods and the sweeps that apply them. */
export function retentionModule({
  db,
  clock,
  env,
  expiring,
  log,
  requireApproval,
}: Pick<RetentionStores, 'db' | 'clock' | 'expiring'> &
  Pick<Parameters<typeof retentionService>[0], 'requireApproval'> & {
    env: Parameters<typeof environmentPeriods>[0]
    log: { auditWithin: RetentionStores['audit'] }
  }) {
  const stores: RetentionStores = { db, clock, deletionRows, expiring, audit: log.auditWithin }
  const retention = retentionService({ stores, environment: environmentPeriods(env), requireApproval })
  const periods = async () => periodsOf(await retention.policyNow())
  return {
    useCases: { retention },
    jobs: retentionJobs(retention),
    checks: retentionEvidence({ expiring, periods }),
    measures: [retentionMeasures(db)],
    /** What a sweep needs. */
    stores,
    /** The periods in force, without those that are announced. */
    periods,
  }
}
