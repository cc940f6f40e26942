import { ourTerm } from '#lib/domains/privacy-requests/rules.ts'

// The clock rules of `rules.ts` as SQL over privacy_requests; the only SQL copy of these rules.

/** An answer is still due, and the clocks run. `row` is the prefix of the columns. */
export const isOwed = (row = ''): string =>
  `${row}closed_at IS NULL AND ${row}paused_at IS NULL AND ${row}state <> 'partly_completed'`
/** Like `nextDue`: the earlier deadline. */
export const nextDueSql = 'least(legal_due_at, due_at)'
/** Like `nearlyDueAt`: when less than a quarter of the time until a deadline remains. */
export const nearlyDueSql = `least(legal_due_at - (legal_due_at - received_at) / 4, due_at - interval '${ourTerm / 4} milliseconds')`
