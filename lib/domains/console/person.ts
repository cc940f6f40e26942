import type { Actor } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** The permission admits only people, who have an account. */
export function personOf({ accountId }: Actor): string {
  if (accountId === undefined) throw new Problem('sign_in_needed')
  return accountId
}
