import { z } from 'zod'
import type { Env } from '#lib/config/env.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { enqueueNotice } from '#lib/domains/accounts/writes.ts'
import { namesOfIds } from '#lib/domains/audit/repository.ts'
import { csvCell, csvStart } from '#lib/domains/audit/rules.ts'
import { holdsInForce } from '#lib/domains/holds/queries.ts'
import { restoredRecord } from '#lib/domains/knowledge/queries.ts'
import { repeatedErasures, storeRepeatedErasures } from '#lib/domains/settings/writes.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Clock, Transaction } from '#lib/kernel/context.ts'
import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read, stream } from '#lib/kernel/use-case.ts'
import { ledgerFolder } from '#lib/stores/ledger/ledger-place.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { StatementTimeout, timeLimitedQuery } from '#lib/stores/postgres/time-limited-query.ts'
import { deletionKinds, exportDeletions, type LoggedDeletion, listDeletions } from './contract.ts'
import type { EngineDeps, WaitingStore } from './engine/dependencies.ts'
import { finishJob, type RecordErasures } from './engine/in-request.ts'
import { recheckJob } from './engine/recheck.ts'
import { erasureEngine, type SubjectEngine } from './engine/run.ts'
import { lateWritesJob } from './engine/run-plan.ts'
import { erasureEvidence, erasureMeasures } from './evidence.ts'
import type { RestrictedSubjects } from './ledger/reinstatement.ts'
import { replayErasures, writeMissingRows } from './ledger/replay.ts'
import { restoredDatabase } from './ledger/restored-database.ts'
import {
  erasureExporters,
  erasurePersonExporters,
  erasureRunExporters,
  formerOwnerDataSource,
  retainedErasureRecords,
} from './personal-data.ts'
import { type CompleteReadings, completeReadings } from './reading/reading.ts'
import { readingUseCases } from './reading/service.ts'
import { adminActSearch, expectedRetention } from './receipts/receipt.ts'
import { receiptPdfReader } from './receipts/receipt-pdf.ts'
import { ownReceipts, receiptUseCases } from './receipts/service.ts'
import {
  countDeletions,
  type DeletionSearch,
  deletionsMatching,
  oldestRunThatCounts,
  purgeDeletionLog,
} from './repository.ts'
import { plusYears } from './rules.ts'
import { erasureProgress, startJob, stepJob, verifyJob } from './runs/runs.ts'

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
  const query = timeLimitedQuery(db, longest)
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
    if (format === 'csv') yield `${csvStart}audit_id,at,kind,requested_by,reason,receipt_id,scope,results\r\n`
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

/** What erasures take from the platform by name, and what other modules give them. */
interface ErasureParts
  extends Pick<
    EngineDeps,
    'dataSources' | 'db' | 'facts' | 'interrupt' | 'ledger' | 'parts' | 'residueIn' | 'signer' | 'words'
  > {
  clock: Clock
  env: Pick<Env, 'KP_SWEEP_DAYS'>
  /** The ledger's part of the registered stores. */
  storeRegistry: { ledgerLostAt(tx: Transaction): Promise<Date | null> }
  log: { auditWithin: EngineDeps['audit'] }
  origin: string
  retainedRecords: readonly RetainedRecord[]
  subjects: EngineDeps['subjects'] & RestrictedSubjects
  suppressed: EngineDeps['suppressions']
  suppressionKeys: Parameters<typeof replayErasures>[0]['keys']
  erasureChanges: { publish: EngineDeps['onChange'] }
  /** Whether the ledger is replayed before anything is served from a restored database. */
  replaysByItself: boolean
}

/** Tells admins which stores do not respond or reject erasures. */
async function notifyAdmins(tx: Transaction, waiting: readonly WaitingStore[], now: Date): Promise<void> {
  for (const { accountId } of await accountDirectory.adminContacts(tx))
    for (const { store, runs, since, refusal } of waiting) {
      const about = { accountId, store, runs, since, at: now }
      await enqueueNotice(
        tx,
        refusal === null ? { kind: 'store-unavailable', ...about } : { kind: 'store-refuses', ...about, refusal },
      )
    }
}

/** The erasure engine over the personal data of all domains, and the replay of the ledger on a restored database. */
export function openErasures(parts: ErasureParts) {
  const { clock, dataSources, db, env, facts, ledger, suppressed } = parts
  const hasAdminActs = adminActSearch(parts.retainedRecords)
  const deps = {
    ...parts,
    hasAdminActs,
    issuer: parts.origin,
    now: clock.now,
    audit: parts.log.auditWithin,
    suppressions: suppressed,
    holds: holdsInForce,
  }
  const engine = erasureEngine({ ...deps, notifyAdmins, onChange: parts.erasureChanges.publish })
  const replay = replayErasures({
    ...deps,
    restored: restoredRecord,
    ledgerLostAt: parts.storeRegistry.ledgerLostAt,
    records: engine.records,
    complete: engine.runs.complete,
    keys: parts.suppressionKeys,
    storeRepeated: storeRepeatedErasures,
  })
  const repeated = { read: () => repeatedErasures(db.prisma) }
  return {
    ...engine,
    readings: completeReadings({ ...deps, sweepDays: env.KP_SWEEP_DAYS }),
    replay,
    /** Appends to the ledger what only the database has. */
    writeMissingRows: () => writeMissingRows({ db, ledger, suppressions: suppressed }),
    restored: restoredDatabase({ db, ledger, replay, replaysByItself: parts.replaysByItself, repeated }),
    expectedRetention: expectedRetention({ dataSources, hasAdminActs, facts }),
  }
}
type Erasures = ReturnType<typeof openErasures>

/** Receipts and the jobs of erasures. */
export function erasureModule({
  db,
  env,
  signer,
  ledger,
  dataSources,
  facts,
  erasures,
}: Pick<ErasureParts, 'db' | 'signer' | 'ledger' | 'dataSources' | 'facts'> & { env: Env; erasures: Erasures }) {
  const { readings } = erasures
  const receipts = receiptUseCases({ db, signer, records: erasures.records })
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
    jobs: erasureJobs(erasures, { db, ledger, facts }),
    checks: erasureEvidence(signer, ledgerFolder(env), readings.runsWithWords) satisfies EvidenceCheck[],
    measures: [erasureMeasures(db, erasures.restored.state)],
  }
}

const readJob = 'erasure.read'
/** Milliseconds after which the `erasure.resume` job continues an unfinished erasure. */
const overdue = 10 * 60_000

/**
 * Deletes the item ids in the ledger once no backup can bring the records back. Without a stated backup period, the
 * items stay as long as the ledger. A long erasure counts from its end.
 */
async function forgetItems(
  { db, ledger, facts }: Pick<EngineDeps, 'db' | 'ledger' | 'facts'>,
  now: Date,
): Promise<void> {
  if (facts.backupDays === undefined) return
  const before = new Date(now.getTime() - facts.backupDays * 86_400_000)
  const [row] = await oldestRunThatCounts(db, { before })
  await ledger.forgetItems(row?.since && row.since < before ? row.since : before)
}

/** Deletes receipts, runs, deletion audit entries and ledger rows after their seven years. */
async function expireErasures(deps: Pick<EngineDeps, 'db' | 'ledger' | 'facts'>, now: Date): Promise<void> {
  const { db, ledger } = deps
  const before = plusYears(now, -7)
  await db.prisma.erasure.deleteMany({ where: { state: 'signed', deletedAt: { lt: before } } })
  await db.prisma.completeReading.deleteMany({ where: { completedAt: { lt: before } } })
  await db.prisma.erasureRun.deleteMany({ where: { state: 'done', finishedAt: { lt: before } } })
  await purgeDeletionLog(db, {})
  await ledger.prune(before)
  await forgetItems(deps, now)
}

const erasureJobs = (
  { records, runs: subjects, readings }: { records: RecordErasures; runs: SubjectEngine; readings: CompleteReadings },
  expiry: Pick<EngineDeps, 'db' | 'ledger' | 'facts'>,
) => [
  job({
    name: startJob,
    payload: z.strictObject({ runId: z.string() }),
    async run(_ctx, { runId }) {
      await subjects.start(runId)
    },
  }),
  job({
    name: stepJob,
    payload: z.strictObject({ runId: z.string(), holder: z.string() }),
    async run(_ctx, { runId, holder }) {
      await subjects.step(runId, holder)
    },
  }),
  job({
    name: verifyJob,
    payload: z.strictObject({ runId: z.string() }),
    async run(_ctx, { runId }) {
      await subjects.verify(runId)
    },
  }),
  job({
    name: recheckJob,
    payload: z.strictObject({ runId: z.string() }),
    run: (_ctx, { runId }) => subjects.recheck(runId),
  }),
  job({
    name: lateWritesJob,
    payload: z.strictObject({ runId: z.string() }),
    run: (_ctx, { runId }) => subjects.overtaken(runId),
  }),
  job({
    name: 'erasure.recheck',
    payload: z.unknown(),
    cron: '17 * * * *',
    run: () => subjects.recheckAll(),
  }),
  job({
    name: readJob,
    payload: z.unknown(),
    cron: '37 * * * *',
    async run({ pipeline }) {
      if ((await readings.read()) === 'reading')
        await pipeline.transaction((tx) => enqueue(tx, readJob, {}, { key: readJob }))
    },
  }),
  job({
    name: 'erasure.watch',
    payload: z.unknown(),
    cron: '* * * * *',
    run: () => subjects.watch(),
  }),
  job({
    name: 'erasure.resume',
    payload: z.unknown(),
    cron: '* * * * *',
    async run(ctx) {
      // Runs every minute, so that a run that waits for the ledger or a store continues soon after it is available. A
      // run that fails must not block the others; its own job reports the error.
      for (const receiptId of await records.unfinished(new Date(ctx.now.getTime() - overdue)))
        await records.finish(receiptId).catch((error: unknown) => logFault(error, { job: 'erasure.resume', receiptId }))
    },
  }),
  job({
    name: 'erasure.expire',
    payload: z.unknown(),
    cron: '41 3 * * *',
    run: (ctx) => expireErasures(expiry, ctx.now),
  }),
  job({
    name: finishJob,
    payload: z.strictObject({ receiptId: z.string() }),
    async run(_ctx, { receiptId }) {
      await records.finish(receiptId)
    },
  }),
]
