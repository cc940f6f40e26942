import { statement } from '#lib/stores/postgres/statement.ts'

const locks = { take: 'pg_try_advisory_lock', release: 'pg_advisory_unlock' } as const
/** Takes the lock of the complete reading for a connection, or releases it. Returns false if another connection has it. */
export const readingLock = statement('reading.lock', {
  takes: {},
  returns: { done: 'bool' },
  variants: ['take', 'release'],
  sql: (what: keyof typeof locks) => `SELECT ${locks[what]}(hashtext('complete_reading')) AS done`,
})
