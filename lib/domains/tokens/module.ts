import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { tokenDataSource, tokenExporters } from './personal-data.ts'
import type { TokenPorts } from './ports.ts'
import { countRefusals, deleteExpiredBatch } from './repository.ts'
import { endedTokenRetention, refusalRetention } from './rules.ts'
import { tokenAdmin, tokensService } from './service.ts'
import { usageRetention } from './usage-rules.ts'

export const tokensData = (db: Database, gate: Parameters<typeof tokenDataSource>[1]): PersonalData => ({
  dataSources: [tokenDataSource(db, gate)],
  exporters: tokenExporters(db),
})

/** Tolerance in milliseconds: the purge job runs hourly. */
const slack = 2 * 3_600_000

/** Data minimisation: network addresses of refused requests are deleted when their retention ends. */
const tokensEvidence = (): EvidenceCheck[] => [
  {
    line: 'minimisation',
    name: 'tokens.refusals',
    page: null,
    async ask(query, now) {
      const [row] = await countRefusals(query, { before: new Date(now.getTime() - refusalRetention - slack) })
      const { kept = 0, late = 0 } = row ?? {}
      return { state: failsIf(late > 0), numbers: { kept, late } }
    },
  },
]

const batch = 1_000

/** Runs batches, each in its own transaction, until one is not full. */
async function inBatches(ctx: Context, run: (tx: Transaction) => Promise<number>): Promise<void> {
  while ((await ctx.pipeline.transaction(run)) === batch);
}

/** Jobs that delete expired data. `purgeWindows` deletes rate limit windows that have ended. */
const tokensJobs = ({ purgeWindows }: { purgeWindows(): Promise<number> }) => [
  job({
    name: 'tokens.purge',
    payload: z.unknown(),
    cron: '23 * * * *',
    async run(ctx) {
      const before = (retention: number) => new Date(ctx.now.getTime() - retention)
      await inBatches(ctx, (tx) =>
        deleteExpiredBatch(tx, { before: before(refusalRetention), limit: batch }, 'refusals'),
      )
      await inBatches(ctx, (tx) => deleteExpiredBatch(tx, { before: before(usageRetention), limit: batch }, 'usage'))
      await inBatches(ctx, async (tx) => {
        const count = await deleteExpiredBatch(tx, { before: before(endedTokenRetention), limit: batch }, 'ended')
        if (count > 0)
          await ctx.pipeline.auditWithin(tx, {
            action: 'delete',
            actorId: ctx.actor.id,
            resourceType: 'token',
            resourceId: 'ended',
            at: ctx.now,
            ip: '',
            details: { count },
          })
        return count
      })
      await purgeWindows()
    },
  }),
]

/** API tokens, their use, and the tiers of agents. */
export function tokensModule({
  db,
  purgeWindows,
  ...ports
}: TokenPorts & {
  db: Database
  /** Deletes expired rate-limit windows and returns how many. */
  purgeWindows(): Promise<number>
}) {
  const tokens = tokensService(db, ports)
  return {
    useCases: { tokens, tiers: tokenAdmin(db, tokens.inUse) },
    jobs: tokensJobs({ purgeWindows }),
    checks: tokensEvidence(),
  }
}
