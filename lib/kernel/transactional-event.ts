import type { Transaction } from './context.ts'

type Listener<T> = (tx: Transaction, event: T) => Promise<unknown>

/**
 * An event of one domain that other domains handle in the same transaction. Listeners run in the order of their registration; if one
 * throws, the publisher's transaction is rolled back.
 */
export function transactionalEvent<T>() {
  const listeners: Listener<T>[] = []
  return {
    listen(listener: Listener<T>): void {
      listeners.push(listener)
    },
    async publish(tx: Transaction, event: T): Promise<void> {
      for (const listener of listeners) await listener(tx, event)
    },
  }
}
export type TransactionalEvent<T> = ReturnType<typeof transactionalEvent<T>>
