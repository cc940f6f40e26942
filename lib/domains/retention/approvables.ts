import { type Approvable, approvable } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Periods } from '#lib/kernel/expiring.ts'
import { editRetention, resetRetention, sweepRetention } from './contract.ts'
import type { PolicyNow } from './policy.ts'
import { periodsOf, retentionChangesOf } from './rules.ts'

const now = ({ network, org, private: own }: Periods) => ({ network_now: network, org_now: org, private_now: own })
const next = ({ network, org, private: own }: Periods) => ({ network_next: network, org_next: org, private_next: own })

/** Actions that decide when data is deleted. */
export function retentionApprovables(policyNow: PolicyNow, environment: Periods): readonly Approvable[] {
  const periods = async (tx: Transaction) => periodsOf(await policyNow(tx))
  return [
    approvable(editRetention, async (tx, { body }) => {
      const before = await periods(tx)
      return { facts: { ...now(before), ...next({ ...before, ...retentionChangesOf(body) }) } }
    }),
    approvable(resetRetention, async (tx) => ({ facts: { ...now(await periods(tx)), ...next(environment) } })),
    approvable(sweepRetention, async (tx) => ({ facts: now(await periods(tx)) })),
  ]
}
