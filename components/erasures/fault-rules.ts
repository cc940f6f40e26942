import { type StoreRefusal, storeRefusals } from '#lib/kernel/store-refusal.ts'

interface FaultParts {
  code: string
  /** The thread that cannot be rewritten. */
  thread: string | null
  /** Why the store refuses. */
  refusal: StoreRefusal | null
}
/** What a step is stuck on: a code, and what the fault names beside it. */
export function faultParts(fault: string | null): FaultParts {
  const [code = '', ...rest] = (fault ?? 'internal').split(':')
  const named = rest.join(':')
  return {
    code,
    thread: code === 'conflict' && named !== '' ? named : null,
    refusal: code === 'store_refuses' ? (storeRefusals.find((one) => one === named) ?? null) : null,
  }
}
