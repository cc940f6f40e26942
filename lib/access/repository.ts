import { statement } from '#lib/stores/postgres/statement.ts'

/** `now` is in Unix milliseconds, like the column. */
export const deleteEndedWindows = statement('access.delete-ended-windows', {
  takes: { now: 'int8' },
  returns: 'count',
  sql: 'DELETE FROM rate_limit_windows WHERE expire <= $now',
})
