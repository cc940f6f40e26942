import { callUseCase } from '#app/page-access.ts'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'

/**
 * The receipt, or the status of an unfinished erasure, which is never reported as success. `held`: a legal hold retains all data.
 * Undefined when no erasure has this id; it may not have started yet.
 */
export async function receiptNamed(id: string): Promise<Receipt | 'under_way' | 'held' | undefined> {
  try {
    return await callUseCase(app.receipts.read, { params: { id } })
  } catch (error) {
    if (!Problem.is(error)) throw error
    // Verification found residue: the data is erased and searched again.
    if (error.code === 'unavailable' && error.headers['Retry-After'] === '60') return 'under_way'
    // An id in an invalid format is also a missing receipt.
    if (error.code === 'invalid') return undefined
    if (error.code === 'not_found') return app.receipts.standing(id)
    throw error
  }
}
