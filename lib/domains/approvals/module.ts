import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { proposalDataSource, proposalExporter } from './personal-data.ts'
import { deleteOldProposals, expireProposals } from './repository.ts'
import { closedProposalRetention } from './rules.ts'
import { type ApprovalDeps, approvalsService } from './service.ts'

export const approvalsData = (db: Database): PersonalData => ({
  dataSources: [proposalDataSource(db)],
  personExporters: [proposalExporter(db)],
})

/** Actions that need the approval of a second admin. */
export const approvalsModule = (deps: ApprovalDeps) => ({
  useCases: { approvals: approvalsService(deps) },
  jobs: [
    job({
      name: 'approvals.upkeep',
      payload: z.unknown(),
      cron: '29 * * * *',
      async run({ actor, now, pipeline }) {
        await pipeline.transaction(async (tx) => {
          const expired = await expireProposals(tx, { now })
          await pipeline.auditWithin(
            tx,
            ...expired.map(({ id, operation }) => ({
              action: 'update' as const,
              actorId: actor.id,
              ip: '',
              at: now,
              resourceType: 'approval',
              resourceId: id,
              details: { decision: 'expire', action: operation },
            })),
          )
        })
        await deleteOldProposals(deps.db, { before: new Date(now.getTime() - closedProposalRetention) })
      },
    }),
  ],
})
