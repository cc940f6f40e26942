import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { ask } from '../reader.ts'

/**
 * The receipt; or, where its erasure is not finished, how that stands: never a success before it is one. `held`: a legal hold keeps
 * everything. Undefined where no erasure has that id, which may be because none began yet.
 */
export async function receiptNamed(id: string): Promise<Receipt | 'under_way' | 'held' | undefined> {
  try {
    return await ask(app.receipts.read, { params: { id } })
  } catch (error) {
    if (!Problem.is(error)) throw error
    // Something is left somewhere; it is erased again, and searched again.
    if (error.code === 'unavailable' && error.headers['Retry-After'] === '60') return 'under_way'
    // An id of the wrong form is no receipt's either.
    if (error.code === 'invalid') return undefined
    if (error.code === 'not_found') return app.receipts.standing(id)
    throw error
  }
}
