import type { Clock } from '#lib/kernel/clock.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { hourOf, type Use } from './usage-rules.ts'

/** How long uses are gathered before they are written, in milliseconds of system time. */
const flushEvery = 10_000
/** So many tokens and hours are written before their time. */
const flushAt = 5_000
/** And so many are gathered at most. Beyond, while the database does not keep up, what is new is not counted. */
const mostGathered = 20_000

interface Gathered extends Use {
  tokenId: string
  /** Unix milliseconds. */
  hour: number
}

/**
 * The tokens stay while their rows are written, and one that is gone gets none: what was erased does not come back by its use. In the
 * order in which an erasure takes tokens, and the same on every replica, so that nobody waits crosswise.
 */
const addUse = `INSERT INTO token_usage AS kept (token_id, hour, reads, writes, refused)
  SELECT u.token_id, u.hour, u.reads, u.writes, u.refused
  FROM unnest($1::text[], $2::timestamptz[], $3::int[], $4::int[], $5::int[]) AS u(token_id, hour, reads, writes, refused)
    JOIN tokens t ON t.id = u.token_id
  ORDER BY u.token_id COLLATE "C", u.hour FOR KEY SHARE OF t
  ON CONFLICT (token_id, hour) DO UPDATE
    SET reads = kept.reads + excluded.reads, writes = kept.writes + excluded.writes, refused = kept.refused + excluded.refused`

export interface TokenUse {
  /** Counts one request of the token, in memory: admitted as a read or a write, or refused for its number. */
  count(tokenId: string, what: keyof Use): void
  /** Writes what was gathered, in one statement. Throws when the database does not take it; then it is gathered still. */
  flush(): Promise<void>
  close(): Promise<void>
}

/**
 * How often tokens are used, by hour (UTC). A request costs it nothing but an addition: what is gathered is written every ten seconds and
 * on close. Statistics, not evidence: a process that is killed loses its last ten seconds.
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
    } else if (gathered.size < mostGathered) gathered.set(key, { tokenId, hour, reads, writes, refused })
  }

  async function write(): Promise<void> {
    const rows = [...gathered.values()]
    if (rows.length === 0) return
    gathered = new Map()
    try {
      await db.query('token-usage', addUse, [
        rows.map(({ tokenId }) => tokenId),
        rows.map(({ hour }) => new Date(hour)),
        rows.map(({ reads }) => reads),
        rows.map(({ writes }) => writes),
        rows.map(({ refused }) => refused),
      ])
    } catch (error) {
      for (const row of rows) add(row)
      throw error
    }
  }

  /** One at a time; who asks while one is under way waits for it, and then writes what came since. */
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
        // Counts of ten seconds are not worth a fault at the end of a process whose database went first.
        if (!Problem.is(error, 'unavailable')) throw error
      })
    },
  }
}
