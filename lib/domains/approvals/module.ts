import { z } from 'zod'
import { sealedPurposes } from '#lib/config/secret.ts'
import { storedSetting } from '#lib/domains/settings/writes.ts'
import { type Approvable, approvable } from '#lib/kernel/approval.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { PersonExporter } from '#lib/kernel/exporter.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { changeApprovalSetting } from './contract.ts'
import {
  deleteOldProposals,
  deleteProposals,
  expireProposals,
  proposalIdsOf,
  proposalInventory,
  proposalResidue,
} from './repository.ts'
import { closedProposalRetention } from './rules.ts'
import { approvalsService } from './service.ts'

const subjectOf = (scope: ErasureScope): Pick<Subject, 'account' | 'agents'> | undefined =>
  'subject' in scope ? scope.subject : undefined

/** Proposals that a person made or decided, and proposals about the person or the person's agents. */
const proposalDataSource = (db: Database): DataSource => ({
  name: 'approvals.proposals',
  store: 'postgresql',
  stage: 'account',
  what: 'proposed actions of admins: who proposed and decided them, and until they are closed, what they would do',
  purpose: 'to let a second admin approve consequential actions',
  kept: '90 days after they expire, which they do after 72 hours; what they would do: until they are closed',
  tables: ['approval_proposals'],
  async inventory({ account, agents }) {
    const [row] = await proposalInventory(db, { account, agents })
    return {
      count: row?.n ?? 0,
      since: row?.since ?? null,
      until: row?.until ? new Date(row.until.getTime() + closedProposalRetention) : null,
    }
  },
  async plan(scope, tx) {
    const subject = subjectOf(scope)
    const rows = subject ? await proposalIdsOf(tx, { account: subject.account, agents: subject.agents }) : []
    return { items: rows.map(({ id }) => id), held: {} }
  },
  erase: (_scope, items, tx) => deleteProposals(tx, { ids: items }),
  async residue(scope, items) {
    const subject = subjectOf(scope)
    if (!subject) return 0
    const [row] = await proposalResidue(db, { account: subject.account, agents: subject.agents, ids: items })
    return row?.n ?? 0
  },
})

/** Proposals that the person made or decided, or that are about the person. What they would do is omitted: it may be about other people. */
const proposalExporter = (db: Database): PersonExporter => ({
  part: 'proposals',
  bases: ['all'],
  tables: ['approval_proposals'],
  pages: (accountId, { until }) =>
    recordPages(db, {
      from: 'approval_proposals p',
      where: '($1 IN (p.account_id, p.decided_by) OR $1 = ANY(p.subject_ids)) AND p.created_at <= $2',
      values: [accountId, until],
      at: 'p.created_at',
      id: 'p.id',
      columns: 'p.*, p.account_id = $1 AS proposed, p.decided_by = $1 AS decided',
      record: jsonObject({
        proposal_id: 'c.id',
        operation: 'c.operation',
        status: 'c.status',
        you_proposed: 'c.proposed',
        you_decided: 'coalesce(c.decided, FALSE)',
        created_at: utc('c.created_at'),
        expires_at: utc('c.expires_at'),
        decided_at: utc('c.decided_at'),
        carried_out_at: utc('c.carried_out_at'),
      }),
    }),
})

export const approvalsData = (db: Database): PersonalData => ({
  dataSources: [proposalDataSource(db)],
  personExporters: [proposalExporter(db)],
})

/** Actions that need the approval of a second admin. */
export const approvalsModule = ({
  db,
  keyFor,
  approvables,
}: {
  db: Database
  keyFor(purpose: string): () => Uint8Array
  /** The actions of other domains that can need an approval. */
  approvables: readonly Approvable[]
}) => ({
  useCases: {
    approvals: approvalsService({
      db,
      key: keyFor(sealedPurposes.proposals),
      setting: storedSetting(db, { name: 'two_person_approval', schema: z.boolean(), fallback: false }),
      approvables: [
        ...approvables,
        approvable(changeApprovalSetting, async (_tx, { body }) => ({ facts: { is_on: body.is_on } })),
      ],
    }),
  },
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
        await deleteOldProposals(db, { before: new Date(now.getTime() - closedProposalRetention) })
      },
    }),
  ],
})
