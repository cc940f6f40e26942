import { setTimeout as delay } from 'node:timers/promises'
import { logFault, logNotice } from '#lib/kernel/fault-log.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { compareWithLedger, type LedgerComparison } from './ledger-history.ts'
import type { Replay } from './replay-report.ts'

/** Milliseconds of the process clock, not of the context's clock: a test that moves time does not make a check stale. */
const freshFor = 2_000
/** Milliseconds after which a request waits for the next check. */
const trustedFor = 10_000
/** Milliseconds that a request waits for a running replay. */
const replayPatience = 1_500
/** Milliseconds until this process replays again what a replay left. A later failover or restore does not wait. */
const betweenReplays = 30_000
/** The same, while only runs that did not finish are left: a store is down, or waits for an admin. */
const betweenRetries = 600_000
/** How often a request compares again because another server answers. */
const maxComparisons = 5
/** An arbitrary number, the same in all processes of the installation. */
const replayLock = 7_231_904_455

export const replayCommand = 'kp erasures replay'

export interface ReplayState {
  /** Number of erasures in the ledger that the database does not know, and that no run of the replay is executing. */
  missing: number
  /** The required action of the operator. Undefined when nothing is missing. */
  detail?: string
  /** False if the ledger could not be read, so that nothing is known about missing erasures. */
  isCompared: boolean
  /** Rows of the ledger that somebody else added, changed or removed. They are not acted on. */
  alterations: number
  /** Number of erasures that a replay began and could not finish yet. Their data is locked. */
  unfinished: number
}

const refusedDetail = (missing: number): string =>
  `The database was restored from a backup, or lost its last transactions in a failover: it does not know ${missing} ${missing === 1 ? 'erasure' : 'erasures'} of the erasure ledger. The server rejects all requests until these erasures are repeated. Run ${replayCommand}.`

export const alteredDetail = (count: number): string =>
  `Somebody without the secret added, changed or removed ${count} ${count === 1 ? 'row' : 'rows'} of the erasure ledger. These rows are not acted on.`

/** Replays unless another process of the installation does. */
export async function replayAlone(db: Pick<Database, 'session'>, replay: () => Promise<Replay>): Promise<void> {
  const client = await db.session()
  // The lock belongs to the session: a connection that may still have it is closed.
  let isIntact = false
  try {
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS is_ours', [replayLock])
    if (rows[0]?.is_ours !== true) {
      isIntact = true
      return
    }
    try {
      logNotice('the database was restored or lost transactions in a failover: repeating the erasures of the ledger')
      const { erased, subjects, parts, reinstated, refused, unfinished, unsearched } = await replay()
      logNotice(
        `replayed erasures: ${erased + subjects + parts} had come back, ${reinstated} receipts reinstated, ${refused.length} refused, ${unfinished.length} unfinished, ${unsearched.length} unsearched`,
      )
    } finally {
      await client.query('SELECT pg_advisory_unlock($1)', [replayLock])
      isIntact = true
    }
  } finally {
    client.release(!isIntact)
  }
}

/** Erasures of the ledger that a replay began and could not finish: their data is locked, and a run continues. */
export interface RepeatedErasures {
  read(): Promise<readonly string[]>
}

/** One comparison, with the erasures whose data may be served again (`closing`) apart from those that a run is executing. */
interface LedgerStatus extends Omit<LedgerComparison, 'missing'> {
  at: number
  /** The epoch before it. In a later one, a server may answer that lacks erasures. */
  epoch: number
  /** The number of servers that had answered before it. */
  servers: number
  closing: number
  unfinished: number
}
/** That a request may read from the server that answers now, the last of so many. */
export type AdmittedServer = Pick<LedgerStatus, 'servers'>

/**
 * Detects a restored database, which contains erased data again. Compares the database with the ledger, which is stored
 * outside it: completely at the first check, then only the latest erasures every two seconds. Until both agree, no
 * request is served and no job runs. Erasures that a replay could not finish do not keep the registry closed: their data is locked.
 */
export function restoredDatabase({
  db,
  ledger,
  replay,
  replaysByItself,
  repeated,
}: {
  db: Database
  ledger: Pick<Ledger, 'readSince'>
  replay(): Promise<Replay>
  /**
   * If true, replays when it finds that the database was restored. If false, rejects requests until an operator runs
   * the command.
   */
  replaysByItself: boolean
  repeated: RepeatedErasures
}) {
  const compare = compareWithLedger(db, ledger)
  let last: LedgerStatus | undefined
  let checking: { epoch: number; compared: Promise<LedgerStatus>; result: Promise<LedgerStatus> } | undefined
  let comparisons: Promise<unknown> = Promise.resolve()
  let isReplaying = false
  let replayed = Number.NEGATIVE_INFINITY
  let reported = { closing: 0, alterations: 0 }

  async function compareNow(): Promise<LedgerStatus> {
    const [epoch, servers] = [db.serverEpoch(), db.servers()]
    const { missing, ...comparison } = await compare()
    const running = new Set(missing.length > 0 ? await repeated.read() : [])
    const closing = missing.filter((id) => !running.has(id)).length
    last = { ...comparison, at: performance.now(), epoch, servers, closing, unfinished: missing.length - closing }
    return last
  }
  /** One at a time: one that began in an earlier epoch may ask the former server, so the next one follows it. */
  function remaining(): Promise<LedgerStatus> {
    const result = comparisons.then(compareNow)
    comparisons = result.catch(() => {})
    return result
  }
  async function replayNow(): Promise<void> {
    isReplaying = true
    try {
      await replayAlone(db, replay)
    } catch (error) {
      logFault(error, { operationId: 'replayErasures' })
    } finally {
      isReplaying = false
      replayed = performance.now()
    }
  }

  async function replayAfter(compared: Promise<LedgerStatus>): Promise<LedgerStatus> {
    let found = await compared
    const pause = found.closing > 0 ? betweenReplays : betweenRetries
    const isDue = !isReplaying && performance.now() - replayed > pause
    if (found.closing + found.unfinished > 0 && replaysByItself && isDue) {
      await replayNow()
      found = await remaining()
    }
    // What is missing later was lost later, as by the next failover.
    if (found.closing + found.unfinished === 0) replayed = Number.NEGATIVE_INFINITY
    if (found.closing > 0 && reported.closing === 0) logNotice(refusedDetail(found.closing))
    if (found.alterations > reported.alterations) logNotice(`${alteredDetail(found.alterations)} See kp doctor.`)
    reported = found
    return found
  }
  /** The running check, if it began in this epoch, or a new one. Its comparison ends before a replay begins. */
  const check = () => {
    const epoch = db.serverEpoch()
    if (checking?.epoch === epoch) return checking
    const compared = remaining()
    const result = replayAfter(compared).finally(() => {
      if (checking?.result === result) checking = undefined
    })
    result.catch(() => {}) // a caller that has stopped waiting does not handle it
    checking = { epoch, compared, result }
    return checking
  }
  const refusal = (missing: number): Problem =>
    new Problem('unavailable', { detail: refusedDetail(missing), headers: { 'Retry-After': '10' } })
  const replaced = (): Problem =>
    new Problem('unavailable', {
      detail:
        'Another database server began to answer during this request, so its result is unknown. Check whether it took effect before you repeat it, or repeat it with the same Idempotency-Key.',
      headers: { 'Retry-After': '1' },
    })

  /** The result of a comparison with the server that answers now. The connection of the comparison itself may lead to another server. */
  async function compared(): Promise<LedgerStatus & { result: Promise<LedgerStatus> }> {
    for (let tries = 1; ; tries++) {
      const { compared: running, result } = check()
      const status = await running
      if (status.epoch === db.serverEpoch()) return { ...status, result }
      if (tries < maxComparisons) continue
      // Connections end one after the other, and the same server answers.
      if (status.servers === db.servers()) return { ...status, result }
      throw replaced()
    }
  }

  return {
    /**
     * Compares now.
     * @throws Problem `unavailable` when the database does not answer
     */
    async state(): Promise<ReplayState> {
      const { closing: missing, unfinished, alterations, isRead: isCompared } = await check().result
      return { missing, unfinished, alterations, isCompared, ...(missing > 0 && { detail: refusedDetail(missing) }) }
    },
    /**
     * Runs at most one query every two seconds. Returns what {@link confirm} needs.
     * @throws Problem `unavailable` while the database lacks erasures of the ledger
     */
    async admit(): Promise<AdmittedServer> {
      const isSameServer = last?.epoch === db.serverEpoch()
      const age = last === undefined || !isSameServer ? Number.POSITIVE_INFINITY : performance.now() - last.at
      if (last?.closing === 0 && (age < trustedFor || (isReplaying && isSameServer))) {
        if (age > freshFor) check()
        return { servers: last.servers }
      }
      if (last !== undefined && last.closing > 0 && (age < freshFor || checking)) throw refusal(last.closing)
      // Waits for a first comparison and for the first of an epoch, however long it takes, but not for a replay.
      const { closing, servers, result } = await compared()
      if (closing === 0) return { servers }
      const replayedAll = await Promise.race([result, delay(replayPatience, undefined, { ref: false })])
      const missing = replayedAll?.closing ?? closing
      if (missing > 0) throw refusal(missing)
      return { servers: replayedAll?.servers ?? servers }
    },
    /**
     * Call it after reading and before responding. Asks the database nothing. Another server, as after a failover, may lack erasures of the ledger, and what was read
     * from it before a replay contains erased data.
     * @throws Problem `unavailable` if a server that was not seen before began to answer since the admission
     */
    confirm({ servers }: AdmittedServer): void {
      if (db.servers() !== servers) throw replaced()
    },
  }
}
