import type { Context } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'

/**
 * Returns the signed-in account.
 * @throws Problem `sign_in_needed`
 */
export function accountOf({ actor: { accountId } }: Pick<Context, 'actor'>): string {
  if (accountId === undefined) throw new Problem('sign_in_needed')
  return accountId
}
