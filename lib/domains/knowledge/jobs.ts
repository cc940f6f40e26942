import { z } from 'zod'
import type { Counts, Expiring, Periods } from '#lib/kernel/expiring.ts'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { deleteRejectionsBefore } from './moderation/repository.ts'
import { quarantineEntry, quarantineReported } from './moderation/service.ts'
import {
  countExpired,
  countExpiredUnderHold,
  type ExpiringTable,
  expiringTables,
  listExpired,
  removalSql,
} from './repository.ts'
import { rejectionRetention } from './rules.ts'
import { weighWaitingVotes } from './votes/weighing.ts'

export const knowledgeJobs = (db: Database) => [
  job({
    name: 'knowledge.forget-rejections',
    payload: z.unknown(),
    cron: '31 * * * *',
    async run(ctx) {
      await deleteRejectionsBefore(db, { before: new Date(ctx.now.getTime() - rejectionRetention) })
    },
  }),
  job({
    // Reports by unclaimed agents count from the agent's second day; no request may happen then to trigger the check.
    name: 'knowledge.weigh-reports',
    payload: z.unknown(),
    cron: '7 * * * *',
    run: (ctx) =>
      ctx.pipeline.transaction(async (tx) => {
        const quarantined = await quarantineReported(tx, null, ctx.now)
        const entries = quarantined.map((unit) => ({ ...quarantineEntry(unit), at: ctx.now, ip: '' }))
        await ctx.pipeline.auditWithin(tx, ...entries)
      }),
  }),
  job({
    // The same applies to votes of unclaimed agents, and to votes of agents claimed since.
    name: 'knowledge.weigh-votes',
    payload: z.unknown(),
    cron: '11 * * * *',
    async run(ctx) {
      await weighWaitingVotes(db, ctx.now)
    },
  }),
]

const day = 86_400_000
const visibilities = ['network', 'org', 'private'] as const

const expiringRows = (db: Database, kind: ExpiringTable): Expiring => {
  const limitsOf = (periods: Periods, now: Date) => {
    const limited = visibilities.flatMap((visibility) => {
      const days = periods[visibility]
      return days === null ? [] : [{ visibility, before: new Date(now.getTime() - days * day) }]
    })
    return { visibilities: limited.map(({ visibility }) => visibility), before: limited.map(({ before }) => before) }
  }
  const held = (periods: Periods, now: Date) => countExpiredUnderHold(db, { ...limitsOf(periods, now), now }, kind)

  return {
    name: `knowledge.${kind.table}`,
    resourceType: kind.resourceType,
    scope: kind.scope,
    removal: removalSql(kind),
    async due(periods, now): Promise<Counts> {
      const counts: Counts = { network: 0, org: 0, private: 0, held: 0 }
      const expired = await countExpired(db, limitsOf(periods, now), kind)
      for (const { visibility, n } of expired) counts[visibility] += n
      for (const { visibility, n } of await held(periods, now)) {
        counts[visibility] -= n
        counts.held += n
      }
      return counts
    },
    list: (periods, now, limit) => listExpired(db, { ...limitsOf(periods, now), now, limit }, kind),
    held: async (periods, now) => (await held(periods, now)).reduce((sum, { n }) => sum + n, 0),
  }
}

/** Deletion of expired units and skills. Dependent rows (votes, reports, versions, files) are deleted with them. */
export const knowledgeExpiry = (db: Database): Expiring[] => expiringTables.map((kind) => expiringRows(db, kind))
