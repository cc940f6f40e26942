import type { Ledger } from './ledger.ts'

/** The same ledger, which calls `used` before each access, with whether it is a write. */
export const observedLedger = (ledger: Ledger, used: (isPut: boolean) => Promise<void>): Ledger => ({
  async append(row) {
    await used(true)
    await ledger.append(row)
  },
  async *read(onProblem) {
    await used(false)
    yield* ledger.read(onProblem)
  },
  async *readSince(position) {
    await used(false)
    yield* ledger.readSince(position)
  },
  async inspect() {
    await used(false)
    return ledger.inspect()
  },
  async forgetItems(time) {
    await used(false)
    return ledger.forgetItems(time)
  },
  async prune(time) {
    await used(false)
    return ledger.prune(time)
  },
  close: () => ledger.close(),
})
