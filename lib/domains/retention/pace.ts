/** Paces the batches of a sweep so that it does not slow down other work. Pure functions; times in milliseconds. */

/** Minimum and maximum number of rows in a batch. */
export const batchBounds = { least: 250, most: 5_000 }
/** Target duration of a batch. Commits of others may wait about this long for the disk or processor. */
const batchTime = { alone: 500, amongOthers: 60 }
/** Transactions per second of others from which the database counts as busy. */
const busyFrom = 50
/**
 * Pause after a batch while the database is busy, as a share of the batch's duration; grows with the square of the
 * slowdown per row.
 */
const pauseShare = { least: 0.35, slowed: 0.4 }
/** Maximum slowdown that counts: rows that take three times the best time. */
const slowest = 2

export interface Batch {
  rows: number
  took: number
}
export interface SweepPace {
  /** Number of rows in the next batch. */
  rows: number
  /** Milliseconds to wait before it. */
  pause: number
}

/** Returns the next batch size and pause. `best` is the least time per row so far. */
export function nextPace({ rows, took }: Batch, best: number, othersPerSecond: number): SweepPace {
  const isBusy = othersPerSecond >= busyFrom
  const aim = isBusy ? batchTime.amongOthers : batchTime.alone
  // At least half and at most twice as many rows, because a single slow commit says little.
  const scale = Math.min(2, Math.max(0.5, aim / Math.max(took, 1)))
  // Rows that take longer than the best time compete with other work.
  const slowness = Math.min(slowest, Math.max(0, took / rows / Math.max(best, 0.001) - 1))
  const share = pauseShare.least + pauseShare.slowed * slowness ** 2
  return {
    rows: Math.round(Math.min(batchBounds.most, Math.max(batchBounds.least, rows * scale))),
    pause: isBusy ? Math.round(took * share) : 0,
  }
}
