import { type Approvable, approvable } from '#lib/kernel/approval.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { retireStore } from './contract.ts'

/** The action after which erasures no longer search a store. */
export const storeApprovables: readonly Approvable[] = [
  approvable(retireStore, async (tx, { params: { id }, body: { statement } }) => {
    const row = await tx.knownStore.findUnique({ where: { id, retiredAt: null } })
    if (!row) throw new Problem('not_found', 'There is no such store, or it was retired before.')
    return { facts: { store: row.shown, provider: row.provider, reason: statement } }
  }),
]
