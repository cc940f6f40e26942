import { limitConcurrency, type TurnBounds } from '#lib/kernel/limit-concurrency.ts'
import type { Pool } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'

export interface Admission {
  /**
   * Runs the work when its party and all parties together have a free slot. A party is a tenant or a network.
   * @throws `unavailable` if it would have to wait too long
   */
  run<T>(party: string, work: () => Promise<T>): Promise<T>
  /** How many pieces of work run or wait. */
  readonly pending: number
}

/** Rejects work early instead of building a queue of many seconds. */
export function admission(bounds: TurnBounds & { patience: number }): Admission {
  const take = limitConcurrency(bounds)
  let pending = 0
  return {
    async run(party, work) {
      pending++
      try {
        const taken = await take(work, party)
        if (typeof taken === 'object') return taken.value
      } finally {
        pending--
      }
      throw new Problem('unavailable', {
        detail: 'Too many requests of this kind are running. Send the request again later.',
        headers: { 'Retry-After': '2' },
      })
    },
    get pending() {
      return pending
    },
  }
}

/**
 * How many of these requests a process runs concurrently, and how many wait. Each uses a database connection most of the time, of which
 * there are ten. One tenant can take a quarter of the erasures, and one network half of the registrations.
 *
 * Contributions leave connections free for everything else: revocations, privacy requests and reads wait for none of them. While an
 * erasure runs or waits, contributions have fewer, so that under overload a contribution is rejected before an erasure is.
 */
const bounds = {
  erasures: { atOnce: 16, waiting: 400, share: 1 / 4 },
  registrations: { atOnce: 4, waiting: 400, share: 1 / 2 },
  contributions: { atOnce: 7, besideErasures: 2, waiting: 200 },
}

export function admissionPools({ patience }: { patience: number }): Readonly<Record<Pool, Admission>> {
  const erasures = admission({ ...bounds.erasures, patience })
  const { atOnce, besideErasures, waiting } = bounds.contributions
  return {
    erasures,
    registrations: admission({ ...bounds.registrations, patience }),
    contributions: admission({
      atOnce: () => (erasures.pending > 0 ? besideErasures : atOnce),
      waiting,
      patience,
    }),
  }
}
