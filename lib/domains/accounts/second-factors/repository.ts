import { hasFactor, isActive } from '#lib/domains/accounts/repository.ts'
import { accountRows } from '#lib/stores/postgres/account-rows.ts'
import { statement } from '#lib/stores/postgres/statement.ts'

export const factorRows = accountRows({ table: 'account_factors', id: 'id', at: 'created_at' })
export const recoveryCodeRows = accountRows({
  ...{ table: 'account_recovery_codes', id: 'code_hash', isBytes: true },
  at: 'created_at',
})

/** SQL condition: the active account `a` is affected by a requirement for everybody or for admins. */
const isAffected = `${isActive} AND ($everybody OR a.role = 'admin')`

/** Active accounts with a password, those of them without a second factor, and active accounts without a password. */
export const countRequiredFactors = statement('second-factors.count-required', {
  takes: { everybody: 'bool' },
  returns: { accounts: 'int4', without: 'int4', by_provider: 'int4' },
  sql: `SELECT count(*) FILTER (WHERE a.password_hash IS NOT NULL)::int4 AS accounts,
      count(*) FILTER (WHERE a.password_hash IS NOT NULL AND NOT ${hasFactor})::int4 AS without,
      count(*) FILTER (WHERE a.password_hash IS NULL)::int4 AS by_provider
    FROM accounts a WHERE ${isAffected}`,
})

/** Notes a reminder for affected accounts without a second factor that had none since `before`. Two calls never get the same account. */
export const claimReminders = statement('second-factors.claim-reminders', {
  takes: { everybody: 'bool', now: 'timestamptz', before: 'timestamptz', limit: 'int4' },
  returns: { id: 'text' },
  sql: `UPDATE accounts SET factor_reminded_at = $now WHERE id IN (SELECT a.id FROM accounts a
      WHERE ${isAffected} AND a.password_hash IS NOT NULL AND NOT ${hasFactor}
        AND (a.factor_reminded_at IS NULL OR a.factor_reminded_at <= $before)
      ORDER BY a.id LIMIT $limit FOR NO KEY UPDATE OF a SKIP LOCKED)
    RETURNING id`,
})
