import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { unsearchedAfter } from '#lib/kernel/erasure-run.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import { ReadingAttestation, Receipt } from '#lib/kernel/receipt.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type Signer, verifyReceipt } from './receipts/signing.ts'
import { runMeasures } from './repository.ts'
import { alertAfter } from './runs/run-rules.ts'

const hour = 3_600_000
/** Number of receipts to verify: this many of the newest, and as many chosen at random. */
const sample = 10
/** A unit's receipt is normally signed within a minute, also after a crash. */
const unsignedAfter = hour / 6

const ledgerCheck = (ledgerFolder: string): EvidenceCheck => ({
  line: 'cascade',
  name: 'erasure.ledger',
  page: null,
  async ask(query) {
    // Without the ledger, a restored backup would bring erased data back.
    const [row] = await query<{ wanted: boolean }>('SELECT EXISTS (SELECT FROM erasures) AS wanted')
    const isThere = await stat(ledgerFolder).then(
      (found) => found.isDirectory(),
      () => false,
    )
    const isWritable =
      isThere &&
      (await access(ledgerFolder, constants.W_OK | constants.X_OK).then(
        () => true,
        () => false,
      ))
    if (row?.wanted !== true && !isThere) return { state: 'not_applicable', numbers: { there: 0, writable: 0 } }
    return { state: failsIf(!isWritable), numbers: { there: isThere ? 1 : 0, writable: isWritable ? 1 : 0 } }
  },
})

const receiptsCheck = (signer: Pick<Signer, 'keys'>): EvidenceCheck => ({
  line: 'erasure',
  name: 'erasure.receipts',
  page: '/admin/erasures?state=done',
  async ask(query) {
    // Random sample: ids are random, so rows after a random id are a random choice.
    const rows = await query<{ receipt: unknown }>(
      `(SELECT receipt FROM erasures WHERE state = 'signed' ORDER BY deleted_at DESC LIMIT $1)
       UNION ALL (SELECT receipt FROM erasures WHERE state = 'signed' AND receipt_id > 'rcpt_' || $2::text ORDER BY receipt_id LIMIT $1)`,
      [sample, Math.random().toString(36).slice(2, 8)],
    )
    if (rows.length === 0) return { state: 'not_applicable', numbers: { looked: 0, bad: 0, unreadable: 0 } }
    const keys = await signer.keys()
    let bad = 0
    for (const { receipt } of rows) {
      const parsed = Receipt.safeParse(receipt)
      if (!parsed.success || 'fault' in (await verifyReceipt(parsed.data, keys))) bad++
    }
    return { state: failsIf(bad > 0), numbers: { looked: rows.length, bad } }
  },
})

const unfinishedCheck: EvidenceCheck = {
  line: 'erasure',
  name: 'erasure.unfinished',
  page: '/admin/erasures',
  async ask(query, now) {
    const [row] = await query<Record<'unsigned' | 'running' | 'failed' | 'held' | 'residue' | 'unsearched', number>>(
      `SELECT (SELECT count(*)::int FROM erasures WHERE state = 'committed' AND deleted_at < $1) AS unsigned,
         (SELECT count(*)::int FROM erasure_runs WHERE state IN ('planning', 'erasing', 'verifying')) AS running,
         (SELECT count(*)::int FROM erasure_runs WHERE state = 'failed') AS failed,
         (SELECT count(*)::int FROM erasure_runs WHERE state = 'held') AS held,
         (SELECT count(*)::int FROM erasure_runs r WHERE r.state = 'done'
           AND EXISTS (SELECT FROM erasure_steps s WHERE s.run_id = r.id AND s.residue > 0)) AS residue,
         (SELECT count(*)::int FROM erasure_runs WHERE recheck_at < $2) AS unsearched`,
      [new Date(now.getTime() - unsignedAfter), new Date(now.getTime() - unsearchedAfter)],
    )
    const { unsigned = 0, running = 0, failed = 0, held = 0, residue = 0, unsearched = 0 } = row ?? {}
    return {
      state: residue + unsigned > 0 ? 'fails' : failed + unsearched > 0 ? 'attention' : 'holds',
      numbers: { unsigned, running, failed, held, residue, unsearched },
      problems: [
        { problem: 'erasure.unsigned', count: unsigned, page: null },
        { problem: 'erasure.residue', count: residue, page: '/admin/erasures?state=residue' },
        { problem: 'erasure.failed', count: failed, page: '/admin/erasures?state=failed' },
        { problem: 'erasure.unsearched', count: unsearched, page: '/admin/erasures?state=unsearched' },
      ],
    }
  },
}

/** A complete reading is due within a day of its erasure. */
const unreadAfter = 24 * hour

const readingsCheck = (runsWithWords: () => Promise<string[]>): EvidenceCheck => ({
  line: 'cascade',
  name: 'erasure.readings',
  page: '/admin/compliance/readings',
  async ask(query, now) {
    const [row] = await query<Record<'waiting' | 'unread' | 'places' | 'readings', number>>(
      `SELECT count(*)::int AS waiting, count(*) FILTER (WHERE r.finished_at < $1)::int AS unread,
         (SELECT count(*)::int FROM remaining_places WHERE decision IS NULL) AS places,
         (SELECT count(*)::int FROM complete_readings) AS readings
       FROM erasure_runs r WHERE r.state = 'done' AND r.read_at IS NULL AND r.id = ANY($2::text[])`,
      [new Date(now.getTime() - unreadAfter), await runsWithWords()],
    )
    const [last] = await query<{ attestation: unknown }>(
      'SELECT attestation FROM complete_readings WHERE attestation IS NOT NULL ORDER BY completed_at DESC LIMIT 1',
    )
    const parsed = ReadingAttestation.safeParse(last?.attestation)
    const { waiting = 0, unread = 0, places = 0, readings = 0 } = row ?? {}
    const isIdle = waiting + readings === 0
    return {
      state: isIdle ? 'not_applicable' : unread + places > 0 ? 'attention' : 'holds',
      numbers: {
        waiting,
        places,
        erasures: parsed.data?.erasures ?? 0,
        found: parsed.data?.erasures_found ?? 0,
        read: parsed.success ? 1 : 0,
      },
      ...(parsed.success && { times: { last: new Date(parsed.data.completed_at) } }),
      problems: [
        { problem: 'erasure.unread', count: unread, page: null },
        { problem: 'erasure.places', count: places, page: '/admin/compliance/readings?decision=none' },
      ],
    }
  },
})

const stepsCheck: EvidenceCheck = {
  line: 'cascade',
  name: 'erasure.steps',
  page: '/admin/erasures',
  async ask(query, now) {
    const [runs] = await query<{ waiting: number; runs_stuck: number }>(
      `SELECT (SELECT count(DISTINCT run_id)::int FROM erasure_waits WHERE since <= $1) AS waiting,
         (SELECT count(*)::int FROM erasure_runs r WHERE state <> 'done'
           AND (EXISTS (SELECT FROM erasure_steps s WHERE s.run_id = r.id AND s.state = 'stuck')
             OR (state IN ('planning', 'verifying') AND fault <> 'unavailable'))) AS runs_stuck`,
      [new Date(now.getTime() - alertAfter)],
    )
    const { waiting = 0, runs_stuck: runsStuck = 0 } = runs ?? {}
    const rows = await query<{ store: string; stuck: number; done: number }>(
      `SELECT store, count(*) FILTER (WHERE state = 'stuck')::int AS stuck, count(*) FILTER (WHERE state = 'done')::int AS done
       FROM erasure_steps GROUP BY store ORDER BY store`,
    )
    const stuck = rows.reduce((sum, row) => sum + row.stuck, 0)
    return {
      state: runsStuck + waiting > 0 ? 'attention' : rows.length === 0 ? 'not_applicable' : 'holds',
      numbers: { stores: rows.length, stuck, waiting, done: rows.reduce((sum, row) => sum + row.done, 0) },
      facts: {
        stuckIn: rows
          .filter((row) => row.stuck > 0)
          .map(({ store }) => store)
          .join(', '),
      },
      problems: [
        { problem: 'erasure.stuck', count: runsStuck, page: '/admin/erasures?state=stuck' },
        { problem: 'erasure.waiting', count: waiting, page: '/admin/erasures?state=waiting' },
      ],
    }
  },
}

const loggedCheck: EvidenceCheck = {
  line: 'audit_of_deletions',
  name: 'erasure.logged',
  page: '/admin/erasures?state=done',
  async ask(query) {
    const [row] = await query<{ erasures: number; logged: number; missing: number }>(
      `SELECT (SELECT count(*)::int FROM erasures) AS erasures, (SELECT count(*)::int FROM deletion_audit_log) AS logged,
         (SELECT count(*)::int FROM erasures e WHERE NOT EXISTS (SELECT FROM deletion_audit_log d WHERE d.audit_id = e.audit_id)) AS missing`,
    )
    const { erasures = 0, logged = 0, missing = 0 } = row ?? {}
    return { state: failsIf(missing > 0), numbers: { erasures, logged, missing } }
  },
}

const appendOnlyCheck: EvidenceCheck = {
  line: 'audit_of_deletions',
  name: 'erasure.append-only',
  page: null,
  async ask(query) {
    const [row] = await query<{ writable: boolean; owned: boolean }>(
      `SELECT has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE') OR has_any_column_privilege(c.oid, 'UPDATE') AS writable,
         pg_has_role(c.relowner, 'USAGE') AS owned
       FROM pg_class c WHERE c.oid = 'deletion_audit_log'::regclass`,
    )
    const { writable = true, owned = true } = row ?? {}
    return { state: failsIf(writable || owned), numbers: { writable: writable ? 1 : 0, owned: owned ? 1 : 0 } }
  },
}

const graphCheck: EvidenceCheck = {
  line: 'pii_entities',
  name: 'installation.graph',
  page: '/admin/erasures?state=done',
  async ask(query) {
    // Every erasure in the graph is followed by a search for residue, which is the evidence.
    const [row] = await query<{ steps: number; open: number; left: number }>(
      `SELECT count(*)::int AS steps, count(*) FILTER (WHERE verified_at IS NULL)::int AS open,
         count(*) FILTER (WHERE verified_at IS NOT NULL AND residue > 0)::int AS left
       FROM erasure_steps WHERE store = 'graph' AND planned > 0`,
    )
    const { steps = 0, open = 0, left = 0 } = row ?? {}
    // Steps of deletions that still run are not verified yet. Deletions that stopped are found by other checks.
    const state = steps === 0 ? 'not_applicable' : failsIf(left > 0)
    const page = '/admin/erasures?state=residue' as const
    return { state, numbers: { steps, open, left }, ...(left > 0 && { page }) }
  },
}

/** Checks that prove erasures: receipts, the deletion log and unfinished erasure runs. */
export const erasureEvidence = (
  signer: Pick<Signer, 'keys'>,
  ledgerFolder: string,
  runsWithWords: () => Promise<string[]>,
): EvidenceCheck[] => [
  ledgerCheck(ledgerFolder),
  receiptsCheck(signer),
  unfinishedCheck,
  stepsCheck,
  readingsCheck(runsWithWords),
  loggedCheck,
  appendOnlyCheck,
  graphCheck,
]

const runStates = ['planning', 'erasing', 'verifying', 'held', 'done', 'failed'] as const
const stepStates = ['waiting', 'running', 'stuck'] as const
const shares = [0.5, 0.95, 1] as const

const day = 86_400_000
/** Metrics about erasures of subjects: runs and steps by state, and durations of the runs that ended within the last day. */
export const erasureMeasures = (
  db: Database,
  ledger: () => Promise<{ alterations: number; missing: number; unfinished: number }>,
): Measuring => ({
  name: 'erasures',
  async measure(now) {
    // Only runs of the last eight days: runs that a legal hold kept open for longer would distort the duration.
    const [row] = await runMeasures(db, {
      now,
      createdAfter: new Date(now.getTime() - 8 * day),
      finishedAfter: new Date(now.getTime() - day),
      shares,
    })
    const { alterations, missing, unfinished } = await ledger()
    const { runs, steps, reading, finished = 0, seconds, quantiles } = row ?? {}
    return [
      {
        name: 'kp_ledger_altered_rows',
        help: 'Rows of the erasure ledger that somebody else added, changed or removed',
        type: 'gauge',
        samples: [{ value: alterations }],
      },
      {
        name: 'kp_erasures_to_repeat',
        help: 'Erasures of the ledger that the database lacks after a restore',
        type: 'gauge',
        samples: [{ value: missing + unfinished }],
      },
      {
        name: 'kp_erasures',
        help: 'Erasures of people and agents by state',
        type: 'gauge',
        samples: runStates.map((state) => ({ labels: { state }, value: runs?.[state] ?? 0 })),
      },
      {
        name: 'kp_erasure_steps',
        help: 'Steps of unfinished erasures, by state',
        type: 'gauge',
        samples: stepStates.map((state) => ({ labels: { state }, value: steps?.[state] ?? 0 })),
      },
      {
        name: 'kp_erasure_steps_stuck',
        help: 'Stuck erasure steps that wait for an admin',
        type: 'gauge',
        samples: [{ value: steps?.stuck ?? 0 }],
      },
      {
        name: 'kp_complete_reading_seconds',
        help: 'Time since the complete reading of all stores began that has not finished; 0 if none runs',
        type: 'gauge',
        samples: [{ value: reading ?? 0 }],
      },
      {
        name: 'kp_erasure_seconds',
        help: 'Time from start to receipt, for erasures that ended within the last day',
        type: 'summary',
        samples: shares.flatMap((share, index) => {
          const value = quantiles?.[index]
          return value === undefined ? [] : [{ labels: { quantile: String(share) }, value }]
        }),
        sum: seconds ?? 0,
        count: finished,
      },
    ]
  },
})
