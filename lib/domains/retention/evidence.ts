import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { Counts, Expiring, Periods } from '#lib/kernel/expiring.ts'
import { lastSweep } from './repository.ts'

const hour = 3_600_000
/** Tolerance in milliseconds: the sweep is hourly, so records that are due for longer were missed. */
const slack = 2 * hour
const longestSilence = 24 * hour

export interface RetentionEvidenceDeps {
  expiring: readonly Pick<Expiring, 'due'>[]
  periods(): Promise<Periods>
}

/** Checks the storage limitation (GDPR art. 5(1)(e)) of records whose retention period an admin can set. */
export const retentionEvidence = ({ expiring, periods }: RetentionEvidenceDeps): EvidenceCheck[] => [
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
