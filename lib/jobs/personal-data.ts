import { z } from 'zod'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { countJobResidue, deleteFailedJobs, deleteJobs, inventoryOfJobs, jobsOfSubject } from './queue.ts'

/**
 * The data source of jobs that are waiting, retried or failed and contain the subject. Running jobs are also deleted: the write fence
 * rejects what they write, and their completion finds no row, which the queue tolerates.
 */
export const queueDataSource = (db: Database): DataSource => ({
  name: 'queue.jobs',
  store: 'postgresql',
  stage: 'derived',
  what: 'queued jobs that name the subject, including unsent emails',
  purpose: 'to complete requested work later, and to retry it after a failure',
  kept: 'until done; permanently failed jobs for 7 days',
  tables: ['graphile_worker._private_jobs'],
  async inventory(subject) {
    const [row] = await inventoryOfJobs(db, subject)
    return { count: 0, since: null, ...row, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const found = await jobsOfSubject(tx, scope.subject)
    return { items: found.map(({ id }) => id).sort(), held: {} }
  },
  erase: (_scope, items, tx) => deleteJobs(tx, { ids: items }),
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const [row] = await countJobResidue(db, { ...scope.subject, ids: items })
    return row?.n ?? 0
  },
})

/** How long a permanently failed job is retained for inspection, in milliseconds. */
const failedJobRetention = 7 * 86_400_000

/** Deletes permanently failed jobs after a week: their rows contain ids of people, and the failure is in the log. */
export const queueJobs = (db: Database) => [
  job({
    name: 'queue.forget-failed',
    payload: z.unknown(),
    cron: '47 * * * *',
    async run(ctx) {
      await deleteFailedJobs(db, { before: new Date(ctx.now.getTime() - failedJobRetention) })
    },
  }),
]
