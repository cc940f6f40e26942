import type { DataSource, Holding, RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Exporter, ExportPage, PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import {
  erasedIdsOfOwners,
  receiptsOfOwners,
  receiptsWithOwner,
  runsOfSubject,
  suppressionsOfSubject,
} from './repository.ts'
import { plusYears } from './rules.ts'

/**
 * The former owners on receipts of erased units and skills. When the owner is erased, the receipt remains without the
 * owner.
 * An item is a receipt's id, which grants read access to the receipt. The ledger stores it beside that receipt.
 */
export const formerOwnerDataSource = (db: Database): DataSource => ({
  name: 'erasure.owners',
  store: 'postgresql',
  stage: 'agent',
  what: 'the owners of units and skills that were erased earlier; the receipts remain without the owner',
  held: 'ownership of receipts: who owned the units and skills that the receipt reports as erased',
  purpose: 'to give owners the receipts of the data that they erased',
  kept: 'until the owner is erased; the receipt itself for seven years',
  basis: 'legal obligation (GDPR art. 6(1)(c), with art. 5(2)): proof of what was erased',
  // The receipts themselves are listed as retained records.
  tables: [],
  async inventory({ agents }) {
    const [row] = await receiptsOfOwners(db, { agents })
    return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const records = await tx.erasure.findMany({
      where: { formerOwner: { in: [...scope.subject.agents] } },
      select: { receiptId: true },
    })
    return { items: records.map(({ receiptId }) => receiptId).sort(), held: {} }
  },
  erase: async (_scope, items, tx) =>
    (await tx.erasure.updateMany({ where: { receiptId: { in: [...items] } }, data: { formerOwner: null } })).count,
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const [row] = await receiptsWithOwner(db, { agents: scope.subject.agents, receipts: items })
    return row?.n ?? 0
  },
})

const proof = 'legal obligation (GDPR art. 6(1)(c), with art. 5(2) and 17): proof of the erasure'
const years = 7
const sevenYears = 'Seven years after each erasure.'

interface Row {
  count: number
  since: Date | null
  last: Date | null
}
const retainedYears = (row: Row | undefined): Holding => ({
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
      inventory: async ({ agents }) => retainedYears((await receiptsOfOwners(db, { agents }))[0]),
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
      inventory: async ({ account, agents }) => retainedYears((await runsOfSubject(db, { account, agents }))[0]),
    },
    {
      name: 'erasure.suppressions',
      store: 'postgresql',
      what: 'keyed hashes of the ids and the email address of erased subjects',
      purpose: 'Rejecting imports that would bring an erased subject back, and registrations of its id.',
      basis: proof,
      kept: 'Ids: permanently. Email address: until the person gives a new, verified consent.',
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

/** Exports the list of the agent's erasures. The receipts themselves are read by id. */
export const erasureExporters = (db: Database): Exporter[] => [
  {
    part: 'erasures',
    bases: ['all'],
    tables: ['erasures'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'erasures e',
        where: 'e.former_owner = $1 AND e.deleted_at <= $2',
        values: [agentId, until],
        at: 'e.deleted_at',
        id: 'e.receipt_id',
        columns: 'e.receipt_id, e.deleted_id, e.deleted_at, e.signed_at',
        record: jsonObject({
          receipt_id: 'c.receipt_id',
          deleted_id: 'c.deleted_id',
          deleted_at: utc('c.deleted_at'),
          signed_at: utc('c.signed_at'),
        }),
      }),
  },
]

/** Erasures of the subject itself, running or stopped by a legal hold. Exports counts, never the erased content. */
function runs(db: Database, where: string, id: string, until: Date): AsyncIterable<ExportPage> {
  return recordPages(db, {
    from: 'erasure_runs r',
    where: `${where} AND r.created_at <= $2`,
    values: [id, until],
    at: 'r.created_at',
    id: 'r.id',
    columns: 'r.*',
    record: jsonObject({
      id: 'c.id',
      request_id: 'c.request_id',
      receipt_id: 'c.receipt_id',
      agents: 'c.agents',
      reason: 'c.reason',
      state: 'c.state',
      created_at: utc('c.created_at'),
      fenced_at: utc('c.fenced_at'),
      finished_at: utc('c.finished_at'),
      steps: `coalesce((SELECT json_agg(json_build_object('holder', s.holder, 'state', s.state, 'planned', s.planned, 'erased', s.erased) ORDER BY s.position)
        FROM erasure_steps s WHERE s.run_id = c.id), '[]')`,
    }),
  })
}

export const erasurePersonExporters = (db: Database): PersonExporter[] => [
  {
    part: 'erasure_runs',
    bases: ['all'],
    tables: ['erasure_runs', 'erasure_steps'],
    pages: (accountId, { until }) => runs(db, 'r.account_id = $1', accountId, until),
  },
]

/** Erasures of a single agent without its account. */
export const erasureRunExporters = (db: Database): Exporter[] => [
  {
    part: 'erasure_runs',
    bases: ['all'],
    tables: ['erasure_runs', 'erasure_steps'],
    pages: (agentId, { until }) => runs(db, 'r.account_id IS NULL AND r.agents @> ARRAY[$1::text]', agentId, until),
  },
]
