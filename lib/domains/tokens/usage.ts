import type { Clock, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import * as tokens from './repository.ts'
import { addUsage } from './repository.ts'
import { hourOf, type Use } from './rules.ts'

export type { TokenLookupRow } from './repository.ts'

/** Finds tokens by the SHA-256 of their raw keys, also revoked and expired ones. */
export const tokensByHash = (db: Database, hashes: readonly Buffer[]) => tokens.tokensByHash(db, { hashes })

/** The token with the state of its agent, if it is active and its agent is not suspended; undefined otherwise. */
export const presentToken = async (tx: Transaction, id: string, now: Date) =>
  (await tokens.presentToken(tx, { id, now }))[0]

/** Records the last use of tokens by id. */
export async function noteTokenUses(db: Database, uses: ReadonlyMap<string, Date>): Promise<void> {
  const sorted = [...uses].sort(([one], [other]) => (one < other ? -1 : 1))
  await tokens.storeLastUses(db, { ids: sorted.map(([id]) => id), times: sorted.map(([, at]) => at) })
}

/** Records a token's first use. Returns false if the token was deleted. */
export const noteFirstTokenUse = async (db: Database, id: string, now: Date): Promise<boolean> =>
  (await tokens.storeFirstUse(db, { id, now })) > 0

/** Number of all tokens, also revoked and expired ones. */
export const countTokens = (tx: Transaction): Promise<number> => tx.token.count()

/** Interval between writes of collected counts, in milliseconds of system time. */
const flushEvery = 10_000
/** Number of collected entries (token and hour) that triggers an early write. */
const flushAt = 5_000
/** Maximum number of collected entries. While the database is unavailable, counts for further entries are dropped. */
const maxGathered = 20_000

interface Gathered extends Use {
  tokenId: string
  /** Unix milliseconds. */
  hour: number
}

interface TokenUse {
  /** Counts one request of the token in memory. */
  count(tokenId: string, what: keyof Use): void
  /** Writes the collected counts in one statement. If the database rejects them, it throws and keeps them for the next write. */
  flush(): Promise<void>
  close(): Promise<void>
}

/**
 * Counts token usage per hour (UTC). Requests only increment counters in memory; these are written every ten seconds and on close. They are
 * statistics, not evidence: a killed process loses up to ten seconds of counts.
 */
export function tokenUse(db: Database, clock: Clock): TokenUse {
  let gathered = new Map<string, Gathered>()
  let writing: Promise<void> | undefined
  const timer = setInterval(() => void flush().catch(() => {}), flushEvery).unref()

  function add({ tokenId, hour, reads, writes, refused }: Gathered): void {
    const key = `${tokenId} ${hour}`
    const known = gathered.get(key)
    if (known) {
      known.reads += reads
      known.writes += writes
      known.refused += refused
    } else if (gathered.size < maxGathered) gathered.set(key, { tokenId, hour, reads, writes, refused })
  }

  async function write(): Promise<void> {
    const rows = [...gathered.values()]
    if (rows.length === 0) return
    gathered = new Map()
    try {
      await addUsage(db, {
        tokens: rows.map(({ tokenId }) => tokenId),
        hours: rows.map(({ hour }) => new Date(hour)),
        reads: rows.map(({ reads }) => reads),
        writes: rows.map(({ writes }) => writes),
        refused: rows.map(({ refused }) => refused),
      })
    } catch (error) {
      for (const row of rows) add(row)
      throw error
    }
  }

  /** Runs one write at a time. A concurrent call waits for the current write, then writes newer counts. */
  async function flush(): Promise<void> {
    while (writing) await writing.catch(() => {})
    writing = write()
    try {
      await writing
    } finally {
      writing = undefined
    }
  }

  return {
    count(tokenId, what) {
      add({ tokenId, hour: hourOf(clock.now()).getTime(), reads: 0, writes: 0, refused: 0, [what]: 1 })
      if (gathered.size >= flushAt && !writing) void flush().catch(() => {})
    },
    flush,
    async close() {
      clearInterval(timer)
      await flush().catch((error: unknown) => {
        // Losing ten seconds of counts must not fail a shutdown after the database has stopped.
        if (!Problem.is(error, 'unavailable')) throw error
      })
    },
  }
}
