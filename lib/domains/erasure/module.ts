import { namesOfIds } from '#lib/domains/audit/repository.ts'
import { csvCell } from '#lib/domains/audit/rules.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { boundedQuery, StatementTimeout } from '#lib/stores/postgres/time-limited-query.ts'
import { deletionKinds, exportDeletions, type LoggedDeletion, listDeletions } from './contract.ts'
import type { ErasureEngine } from './engine/run-driver.ts'
import type { EngineDeps } from './engine/subject-erasures.ts'
import { erasureEvidence } from './evidence.ts'
import { erasureJobs } from './jobs.ts'
import {
  erasureExporters,
  erasurePersonExporters,
  erasureRunExporters,
  formerOwnerDataSource,
  retainedErasureRecords,
} from './personal-data.ts'
import type { CompleteReadings } from './reading/reading.ts'
import { readingUseCases } from './reading/service.ts'
import { receiptPdfReader } from './receipts/receipt-pdf.ts'
import { ownReceipts, receiptUseCases } from './receipts/service.ts'
import { countDeletions, type DeletionSearch, deletionsMatching } from './repository.ts'
import { erasureProgress } from './runs/progress.ts'

export const erasureData = (db: Database): PersonalData => ({
  dataSources: [formerOwnerDataSource(db)],
  exporters: [...erasureExporters(db), ...erasureRunExporters(db)],
  personExporters: erasurePersonExporters(db),
  retainedRecords: retainedErasureRecords(db),
})

/** Time limit of a search without an index, in milliseconds. */
const longest = 4_000
/** Counting stops at this total. */
const countedTo = 1_001
/** Deletions per query of an export. */
const exportPage = 500

interface Filters {
  q?: string | undefined
  kind?: (typeof deletionKinds)[number] | undefined
  from?: Date | undefined
  to?: Date | undefined
}
const searchOf = ({ q, kind, from, to }: Filters, after?: { at: Date; id: string }): DeletionSearch => ({
  q: q ?? null,
  kind: kind ?? null,
  from: from ?? null,
  to: to ?? null,
  cursor_at: after?.at ?? null,
  cursor_id: after?.id ?? null,
})
const person = 'user:'
const bare = (actor: string): string => (actor.startsWith(person) ? actor.slice(person.length) : actor)

/** Reads the deletion log, which lists every deletion of seven years. */
function deletionLogReading(db: Database) {
  const query = boundedQuery(db, longest)
  const inTime = <T>(found: Promise<T>): Promise<T> =>
    found.catch((error: unknown) => {
      if (!(error instanceof StatementTimeout)) throw error
      throw new Problem('unavailable', {
        detail: 'This search of the deletion log takes too long. Choose a shorter period.',
        headers: { 'Retry-After': '60' },
      })
    })
  async function presented(rows: Awaited<ReturnType<typeof deletionsMatching>>): Promise<LoggedDeletion[]> {
    const known = await namesOfIds(db, { ids: [...new Set(rows.map(({ requested_by }) => bare(requested_by)))] })
    const names = new Map(known.map(({ id, name }) => [id, name]))
    return rows.map(({ at, kind, results, ...row }) => ({
      ...row,
      at: at.toISOString(),
      kind: deletionKinds.find((one) => one === kind) ?? 'owner',
      requested_by_name: names.get(bare(row.requested_by)) ?? null,
      results: Object.fromEntries(Object.entries(results).filter(([, count]) => count !== 0)),
    }))
  }

  async function* exported(filters: Filters, format: 'csv' | 'jsonl'): AsyncIterable<string> {
    if (format === 'csv') yield 'audit_id,at,kind,requested_by,reason,receipt_id,scope,results\r\n'
    for (let after: { at: Date; id: string } | undefined; ; ) {
      const rows = await inTime(deletionsMatching(query, { ...searchOf(filters, after), limit: exportPage }))
      for (const row of await presented(rows)) {
        const { requested_by_name: _, ...stored } = row
        yield format === 'jsonl'
          ? `${JSON.stringify(stored)}\n`
          : `${[row.audit_id, row.at, row.kind, row.requested_by, row.reason, row.receipt_id ?? '', JSON.stringify(row.scope), JSON.stringify(row.results)].map(csvCell).join(',')}\r\n`
      }
      const last = rows.at(-1)
      if (!last || rows.length < exportPage) return
      after = { at: last.at, id: last.audit_id }
    }
  }

  return {
    deletions: read(listDeletions, async (_ctx, { query: { limit, cursor, ...filters } }) => {
      const [rows, counted] = await inTime(
        Promise.all([
          deletionsMatching(query, { ...searchOf(filters, parseCursor(cursor)), limit: limit + 1 }),
          countDeletions(query, { ...searchOf(filters), max: countedTo }),
        ]),
      )
      const { shown, page } = pageOf(rows, limit, counted[0]?.n ?? 0, ({ at, audit_id }) => ({ at, id: audit_id }))
      return {
        body: { data: await presented(shown), ...page },
        resourceId: 'list',
        details: { filters: Object.keys(filters), count: shown.length },
      }
    }),
    exportDeletions: stream(exportDeletions, async ({ now }, { query: { format, ...filters } }) => ({
      body: exported(filters, format),
      resourceId: 'query',
      details: { filters: Object.keys(filters), format },
      headers: {
        'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl',
        'Content-Disposition': `attachment; filename="deletions-${now.toISOString().slice(0, 10)}.${format}"`,
      },
    })),
  }
}

/** Receipts and the jobs of erasures. */
export function erasureModule({
  db,
  signer,
  ledger,
  ledgerFolder,
  engine,
  readings,
  dataSources,
  facts,
}: Pick<EngineDeps, 'db' | 'signer' | 'ledger' | 'dataSources' | 'facts'> & {
  ledgerFolder: string
  engine: ErasureEngine
  readings: CompleteReadings
}) {
  const receipts = receiptUseCases({ db, signer, records: engine.records })
  const own = ownReceipts(db)
  return {
    useCases: {
      receipts: {
        ...receipts,
        ...deletionLogReading(db),
        ...erasureProgress(db),
        pdf: receiptPdfReader(receipts.read, signer),
        own: own.list,
        standing: own.standing,
      },
      readings: readingUseCases({ db, dataSources, runsWithWords: readings.runsWithWords }),
    },
    jobs: erasureJobs({ ...engine, readings }, { db, ledger, facts }),
    checks: erasureEvidence(signer, ledgerFolder, readings.runsWithWords) satisfies EvidenceCheck[],
  }
}
