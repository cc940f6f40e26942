import { ourTerm } from '#lib/domains/privacy-requests/rules.ts'

// The clock rules of `rules.ts` as SQL over privacy_requests; the only SQL copy of these rules.

/** An answer is still due, and the clocks run. `row` is the prefix of the columns. */
export const isOwed = (row = ''): string =>
  `${row}closed_at IS NULL AND ${row}paused_at IS NULL AND ${row}state <> 'partly_completed'`
/** Like `nextDue`: the earlier deadline. */
export const nextDueSql = 'least(legal_due_at, due_at)'
/**
 * Sorts by the earlier deadline. Paused requests follow, by the remaining time, because a pause moves their deadlines. Requests without a
 * deadline are last, the newest first. The keys of both groups are dates after the years 5900 and 9000, which cursors can still contain.
 */
export const dueOrderSql = `CASE WHEN closed_at IS NOT NULL OR state = 'partly_completed'
    THEN timestamptz '9000-01-01' + (timestamptz '2500-01-01' - received_at)
  WHEN paused_at IS NOT NULL THEN timestamptz '6000-01-01' + (${nextDueSql} - paused_at)
  ELSE ${nextDueSql} END`
/** Like `nearlyDueAt`: when less than a quarter of the time until a deadline remains. */
export const nearlyDueSql = `least(legal_due_at - (legal_due_at - received_at) / 4, due_at - interval '${ourTerm / 4} milliseconds')`
/** Whether an erasure that is done was completed in time. `part` and `row` are prefixes of the columns of the part and of its request. */
export const isErasedInTime = (part: string, row: string): string =>
  `coalesce(${part}finished_at - greatest(${row}verified_at, coalesce(${row}waiting_until, ${row}verified_at)) <= interval '${ourTerm} milliseconds', false)`
