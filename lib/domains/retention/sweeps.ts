import { z } from 'zod'
import type { Periods } from '#lib/kernel/expiring.ts'
import type { SweepView } from './contract.ts'
import type { SweepRow } from './repository.ts'
import { sweepStateOf } from './rules.ts'

const Deleted = z.object({
  network: z.number().default(0),
  org: z.number().default(0),
  private: z.number().default(0),
})
export type Deleted = z.output<typeof Deleted>
const Policy = z.object({
  network: z.number().nullable(),
  org: z.number().nullable(),
  private: z.number().nullable(),
})

export const deletedOf = (row: SweepRow): Deleted => Deleted.parse(row.deleted)
export const policyIn = (row: SweepRow): Periods => Policy.parse(row.policy)
export const totalOf = ({ network, org, private: own }: Deleted): number => network + org + own

export function presented(row: SweepRow): z.input<typeof SweepView> {
  const deleted = deletedOf(row)
  return {
    id: row.id,
    state: sweepStateOf({ finishedAt: row.finished_at, interrupted: row.interrupted }),
    trigger: row.trigger,
    requested_by: row.requested_by,
    policy: policyIn(row),
    started_at: row.started_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
    deleted: { ...deleted, total: totalOf(deleted) },
    held: row.held,
  }
}
