import type { Holding, RetainedRecord, Subject } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { plusYears } from './rules.ts'

const proof = 'legal obligation (GDPR art. 6(1)(c), with art. 5(2) and 17): proof of what was erased'
const years = 7
const sevenYears = 'Seven years from each erasure.'

interface Row {
  count: number
  since: Date | null
  last: Date | null
}
const keptYears = (row: Row | undefined): Holding => ({
  count: row?.count ?? 0,
  since: row?.since ?? null,
  until: row?.last ? plusYears(row.last, years) : null,
})

/** Retained records that prove erasures and prevent erased data from coming back. */
export function retainedErasureRecords(db: Database): RetainedRecord[] {
  /** Counts records of erasures that the subject's agents requested. */
  const byOwner = async (name: string, text: string, { agents }: Subject): Promise<Row | undefined> =>
    (await db.query<Row>(name, text, [agents]))[0]
  /** Counts records of erasures of the subject itself. */
  const byRun = async (name: string, text: string, { account, agents }: Subject): Promise<Row | undefined> =>
    (await db.query<Row>(name, text, [agents, account]))[0]
  return [
    {
      name: 'erasure.receipts',
      store: 'postgresql',
      what: 'receipts of what was erased of yours, and the entries of the deletion log',
      purpose: 'Proving that it was erased, to you and to the authority. Ids and counts, no content.',
      basis: proof,
      kept: sevenYears,
      tables: ['erasures', 'deletion_audit_log'],
      async inventory(subject) {
        return keptYears(
          await byOwner(
            'receipts-inventory',
            `SELECT count(*)::int AS count, min(deleted_at) AS since, max(deleted_at) AS last
             FROM erasures WHERE former_owner = ANY($1::text[])`,
            subject,
          ),
        )
      },
    },
    {
      name: 'erasure.ids',
      store: 'postgresql',
      what: 'ids of what was erased of yours',
      purpose: 'Keeping it from coming back, and telling those who copied it (GDPR art. 19).',
      basis: proof,
      kept: 'For ever: an id that was erased is not taken again.',
      tables: ['erased_ids'],
      async inventory(subject) {
        const row = await byOwner(
          'erased-ids-inventory',
          `SELECT count(*)::int AS count, min(i.erased_at) AS since, NULL::timestamptz AS last
           FROM erasures e JOIN erased_ids i ON i.id = e.deleted_id WHERE e.former_owner = ANY($1::text[])`,
          subject,
        )
        return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
      },
    },
    {
      name: 'erasure.runs',
      store: 'postgresql',
      what: 'erasures of yours, and of parts of projects that you asked for, that are under way or were carried out: their steps, with ids and counts, and the write fence',
      purpose: 'Carrying the erasure out to its end, whatever happens meanwhile, and proving it.',
      basis: proof,
      kept: 'The fence until the erasure is done; the steps as long as the receipt.',
      tables: [
        'erasure_runs',
        'erasure_steps',
        'erasure_pages',
        'erasure_tallies',
        'erasure_waits',
        'remaining_mentions',
        'erased_words',
        'write_fences',
      ],
      async inventory(subject) {
        return keptYears(
          await byRun(
            'runs-inventory',
            `SELECT count(*)::int AS count, min(created_at) AS since, max(finished_at) AS last FROM erasure_runs
             WHERE account_id = $2 OR agents && $1::text[] OR (part_kind IS NOT NULL AND (requested_by = 'user:' || $2 OR requested_by = ANY($1::text[])))`,
            subject,
          ),
        )
      },
    },
    {
      name: 'erasure.suppressions',
      store: 'postgresql',
      what: 'keyed hashes of the ids and the e-mail address of who was erased',
      purpose: 'Rejecting imports that would bring an erased subject back, and registrations of its id.',
      basis: proof,
      kept: 'Until a fresh, verified consent.',
      tables: ['suppressions'],
      async inventory(subject) {
        const row = await byRun(
          'suppressions-inventory',
          `SELECT count(*)::int AS count, min(s.since) AS since, NULL::timestamptz AS last
           FROM suppressions s WHERE s.run_id IN (SELECT id FROM erasure_runs WHERE account_id = $2 OR agents && $1::text[])`,
          subject,
        )
        return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
      },
    },
    {
      name: 'erasure.ledger',
      store: 'ledger',
      what: 'lines of the erasure ledger, outside the database: ids of what was erased',
      purpose: 'Erasing again what a restored backup would bring back.',
      basis: proof,
      kept: sevenYears,
      tables: [],
      inventory: async () => null,
    },
  ]
}
