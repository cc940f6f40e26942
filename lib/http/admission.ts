import { limitConcurrency, type TurnBounds } from '#lib/kernel/limit-concurrency.ts'
import { Problem } from '#lib/kernel/problem.ts'

export interface Admission {
  /**
   * Runs the work when its party and all parties together have a free slot. A party is a tenant or a network.
   * @throws `unavailable` if it would have to wait too long
   */
  run<T>(party: string, work: () => Promise<T>): Promise<T>
}

/** Rejects work early instead of building a queue of many seconds. */
export function admission(bounds: TurnBounds & { patience: number }): Admission {
  const take = limitConcurrency(bounds)
  return {
    async run(party, work) {
      const taken = await take(work, party)
      if (typeof taken === 'object') return taken.value
      throw new Problem('unavailable', {
        detail: 'Too many requests of this kind are running. Send the request again later.',
        headers: { 'Retry-After': '2' },
      })
    },
  }
}
