/** How a sweep keeps out of others' way. Pure; times in milliseconds. */

/** Rows of a batch at least and at most. */
export const batchBounds = { least: 250, most: 5_000 }
/** What a batch may take: about so long a commit of others may wait for a disk or a processor that it has. */
const batchTime = { alone: 500, amongOthers: 60 }
/** Transactions of others per second from which on they count as at work. */
const busyFrom = 50
/** The pause after a batch among others, as a share of what the batch took; more by the square of how much longer its rows took. */
const pauseShare = { least: 0.35, slowed: 0.4 }
/** Rows that take three times what they could are as slow as counts. */
const slowest = 2

export interface Batch {
  rows: number
  took: number
}
export interface Pace {
  /** Rows of the next batch. */
  rows: number
  /** How long to wait before it. */
  pause: number
}

/** After a batch, while others made so many transactions per second. `best` is the least time that a row took so far. */
export function nextPace({ rows, took }: Batch, best: number, othersPerSecond: number): Pace {
  const isBusy = othersPerSecond >= busyFrom
  const aim = isBusy ? batchTime.amongOthers : batchTime.alone
  // Half at least, twice at most: one slow commit says little.
  const scale = Math.min(2, Math.max(0.5, aim / Math.max(took, 1)))
  // Rows that take longer than they could are waiting for what others want too.
  const slowness = Math.min(slowest, Math.max(0, took / rows / Math.max(best, 0.001) - 1))
  const share = pauseShare.least + pauseShare.slowed * slowness ** 2
  return {
    rows: Math.round(Math.min(batchBounds.most, Math.max(batchBounds.least, rows * scale))),
    pause: isBusy ? Math.round(took * share) : 0,
  }
}
