import { accountRows } from '#lib/stores/postgres/account-rows.ts'

export const factorRows = accountRows({ table: 'account_factors', id: 'id', at: 'created_at' })
export const recoveryCodeRows = accountRows({
  ...{ table: 'account_recovery_codes', id: 'code_hash', isBytes: true },
  at: 'created_at',
})
