import { ourTerm } from './rules.ts'

// What `rules.ts` says of the clocks of one request, as conditions and columns over privacy_requests: there is no other place for them.

/** Somebody is owed something, and the clocks go on. */
export const owedSql = "closed_at IS NULL AND paused_at IS NULL AND state <> 'partly_completed'"
/** As `nextDue`: the clock that ends first. */
export const nextDueSql = 'least(legal_due_at, due_at)'
/** As `nearAt`: from then on less than a quarter is left of one of the two. */
export const nearSql = `least(legal_due_at - (legal_due_at - received_at) / 4, due_at - interval '${ourTerm / 4} milliseconds')`
