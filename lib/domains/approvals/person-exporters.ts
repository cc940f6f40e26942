import type { PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

/** Proposals that the person made or decided, or that are about the person. What they would do is omitted: it may be about other people. */
export const proposalExporter = (db: Database): PersonExporter => ({
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
