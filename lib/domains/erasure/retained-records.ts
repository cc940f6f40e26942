import type { Holding, RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { erasedIdsOfOwners, receiptsOfOwners, runsOfSubject, suppressionsOfSubject } from './repository.ts'
import { plusYears } from './rules.ts'

const proof = 'legal obligation (GDPR art. 6(1)(c), with art. 5(2) and 17): proof of the erasure'
const years = 7
const sevenYears = 'Seven years after each erasure.'

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
  return [
    {
      name: 'erasure.receipts',
      store: 'postgresql',
      what: 'receipts of your erasures, and the entries of the deletion log',
      purpose: 'Proving the erasure to you and to the authority. Ids and counts, no content.',
      basis: proof,
      kept: sevenYears,
      tables: ['erasures', 'deletion_audit_log'],
      inventory: async ({ agents }) => keptYears((await receiptsOfOwners(db, { agents }))[0]),
    },
    {
      name: 'erasure.ids',
      store: 'postgresql',
      what: 'ids of your erased data',
      purpose: 'Preventing the data from being restored, and informing those who copied it (GDPR art. 19).',
      basis: proof,
      kept: 'Forever: an erased id cannot be used again.',
      tables: ['erased_ids'],
      async inventory({ agents }) {
        const [row] = await erasedIdsOfOwners(db, { agents })
        return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
      },
    },
    {
      name: 'erasure.runs',
      store: 'postgresql',
      what: 'running and completed erasures of your data, and of parts of projects at your request: their steps, with ids and counts, and the write fence',
      purpose: 'Completing the erasure despite interruptions, and proving it.',
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
        'complete_readings',
        'reading_stores',
        'reading_findings',
        'reading_pages',
        'receipt_readings',
        'remaining_places',
        'write_fences',
      ],
      inventory: async ({ account, agents }) => keptYears((await runsOfSubject(db, { account, agents }))[0]),
    },
    {
      name: 'erasure.suppressions',
      store: 'postgresql',
      what: 'keyed hashes of the ids and the email address of erased subjects',
      purpose: 'Rejecting imports that would bring an erased subject back, and registrations of its id.',
      basis: proof,
      kept: 'Until the person gives a new, verified consent.',
      tables: ['suppressions'],
      async inventory({ account, agents }) {
        const [row] = await suppressionsOfSubject(db, { account, agents })
        return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
      },
    },
    {
      name: 'erasure.ledger',
      store: 'ledger',
      what: 'lines of the erasure ledger, outside the database: ids of erased data',
      purpose: 'Repeating the erasure after a backup is restored.',
      basis: proof,
      kept: sevenYears,
      tables: [],
      inventory: async () => null,
    },
  ]
}
