import { canSignIn } from '#lib/domains/accounts/repository.ts'
import { accountRows } from '#lib/stores/postgres/account-rows.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'
import type { EmailDelivery, EmailKind } from './rules.ts'

export const emailChoiceRows = accountRows({ table: 'email_choices', id: 'id', at: 'updated_at' })

/** The choices of an account; kinds without a choice have no row. */
export const choicesOf = statement('email-choices.of-account', {
  takes: { account: 'text' },
  returns: { kind: typed<EmailKind>('text'), delivery: typed<EmailDelivery>('text') },
  isPrepared: true,
  sql: 'SELECT kind, delivery FROM email_choices WHERE account_id = $account ORDER BY kind',
})

export const storeChoice = statement('email-choices.store', {
  takes: { id: 'text', account: 'text', kind: 'text', delivery: 'text', now: 'timestamptz' },
  returns: 'count',
  sql: `INSERT INTO email_choices (id, account_id, kind, delivery, updated_at) VALUES ($id, $account, $kind, $delivery, $now)
    ON CONFLICT (account_id, kind) DO UPDATE SET delivery = excluded.delivery, updated_at = excluded.updated_at`,
})

/** Whether another admin who can sign in gets emails of this kind. `usual`: the delivery without a choice. */
export const otherReceivers = statement('email-choices.other-receivers', {
  takes: { account: 'text', kind: 'text', usual: 'text' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM accounts a LEFT JOIN email_choices c ON c.account_id = a.id AND c.kind = $kind
    WHERE a.role = 'admin' AND a.id <> $account AND a.suspended_at IS NULL AND ${canSignIn}
      AND coalesce(c.delivery, $usual) <> 'never'`,
})
