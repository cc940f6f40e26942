import type { Transaction } from '#lib/kernel/context.ts'
import { withdrawNamingIds, withdrawShowing } from './repository.ts'

/**
 * Withdraws stored responses that show a resource after its content was corrected (GDPR art. 16): the content is deleted, but a marker
 * stays, so that a late retry does not repeat the operation. Responses that do not show the content stay.
 */
export const withdrawAnswers = (tx: Transaction, ...resourceIds: string[]): Promise<number> =>
  withdrawShowing(tx, { resources: resourceIds })

/** Withdraws responses that name units or skills after their erasure. Returns the number of responses. */
export const withdrawNaming = (tx: Transaction, ids: readonly string[]): Promise<number> =>
  withdrawNamingIds(tx, { ids })
