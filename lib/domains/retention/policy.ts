import type { RequireApproval } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Counts, Periods } from '#lib/kernel/expiring.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { dryRunRetention, editRetention, readRetention, resetRetention } from './contract.ts'
import type { RetentionStores } from './retention-manager.ts'
import {
  dayMs,
  type PeriodInForce,
  periodsOf,
  presets,
  type RetainedVisibility,
  retainedVisibilities,
  retentionChangesOf,
  retentionPolicyOf,
} from './rules.ts'

const resourceId = 'installation'
const upcomingDays = [7, 30]
const longestPreview = 30
/** Number of records that a dry run lists. */
const mostListed = 100

/** Returns the periods in force with their source. */
export type PolicyNow = (tx?: Transaction) => Promise<Record<RetainedVisibility, PeriodInForce>>

export const policyReader =
  ({ db }: Pick<RetentionStores, 'db'>, environment: Periods): PolicyNow =>
  async (tx = db.prisma) =>
    retentionPolicyOf(environment, await tx.retentionOverride.findMany())

/** Counts the records that are due at a time under these periods. */
async function dueAt({ expiring }: RetentionStores, periods: Periods, at: Date) {
  const sum: Counts = { network: 0, org: 0, private: 0, held: 0 }
  for (const one of expiring) {
    const due = await one.due(periods, at)
    for (const key of [...retainedVisibilities, 'held'] as const) sum[key] += due[key]
  }
  return { ...sum, total: sum.network + sum.org + sum.private }
}
/** The first records that are due at a time under these periods, by the day on which they expire. */
async function recordsDueAt({ expiring }: RetentionStores, periods: Periods, at: Date) {
  const lists = await Promise.all(
    expiring.map(async (one) =>
      (await one.list(periods, at, mostListed)).map(({ id, visibility, agentId, storedAt }) => ({
        id,
        kind: one.scope,
        visibility,
        agent_id: agentId,
        stored_at: storedAt.toISOString(),
        expires_at: new Date(storedAt.getTime() + (periods[visibility] ?? 0) * dayMs).toISOString(),
      })),
    ),
  )
  return lists
    .flat()
    .sort((one, other) => one.expires_at.localeCompare(other.expires_at))
    .slice(0, mostListed)
}

/** Use cases that read and change the retention periods, and that count what they would delete. */
export function retentionPolicy(stores: RetentionStores, policyNow: PolicyNow, requireApproval: RequireApproval) {
  const policyBody = async (tx?: Transaction) => ({ data: { policy: await policyNow(tx), presets } })
  return {
    read: read(readRetention, async () => ({ body: await policyBody(), resourceId })),

    edit: mutation(editRetention, async (ctx, { body }) => {
      const { tx, now, actor } = ctx
      const changes = retentionChangesOf(body)
      await requireApproval(ctx, { operation: editRetention, input: { body } })
      for (const visibility of retainedVisibilities) {
        const days = changes[visibility]
        if (days === undefined) continue
        const row = { days, setBy: actor.id, setAt: now }
        await tx.retentionOverride.upsert({ where: { visibility }, create: { visibility, ...row }, update: row })
      }
      return { body: await policyBody(tx), resourceId, details: { set: changes } }
    }),

    reset: mutation(resetRetention, async (ctx) => {
      const { tx } = ctx
      await requireApproval(ctx, { operation: resetRetention, input: {} })
      const { count } = await tx.retentionOverride.deleteMany()
      return { body: await policyBody(tx), resourceId, details: { removed: count } }
    }),

    dryRun: read(dryRunRetention, async ({ now }, { body }) => {
      const periods = { ...periodsOf(await policyNow()), ...retentionChangesOf(body) }
      const due = await dueAt(stores, periods, now)
      const upcoming = []
      for (const days of upcomingDays)
        upcoming.push({ within_days: days, ...(await dueAt(stores, periods, new Date(now.getTime() + days * dayMs))) })
      const records = await recordsDueAt(stores, periods, new Date(now.getTime() + longestPreview * dayMs))
      return {
        body: { data: { policy: periods, at: now.toISOString(), would_delete: due, upcoming, records } },
        resourceId,
        details: { dryRun: true, count: due.total },
      }
    }),
  }
}
