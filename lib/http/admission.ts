import { limitConcurrency, type TurnBounds } from '#lib/kernel/concurrency.ts'
import type { Pool } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'

export interface Admission {
  /**
   * Runs the work when its party and all parties together have a free slot. A party is a tenant or a network.
   * @param sharing work with the same text shares slots, because it shares a database connection. The work gets the name of its group
   * @throws `unavailable` if it would have to wait too long
   */
  run<T>(party: string, work: (group?: string) => Promise<T>, sharing?: string): Promise<T>
  /** How many pieces of work run or wait. */
  readonly pending: number
}

/** Work that occupies one slot together. */
interface SharedSlot {
  name: string
  /** How many pieces came, which is bounded, so that a group does not keep its slot, and how many of them have not ended. */
  came: number
  left: number
  /** False if it gets no slot. */
  started: Promise<boolean>
  end(): void
}

interface AdmissionBounds extends TurnBounds {
  patience: number
  /** How many pieces of work that share may use one slot, together or one after the other. */
  maxShared?: () => number
}

/** Rejects work early instead of building a queue of many seconds. */
export function admission({ maxShared = () => 1, ...bounds }: AdmissionBounds): Admission {
  const take = limitConcurrency(bounds)
  const groups = new Map<string, SharedSlot>()
  let pending = 0
  let begun = 0

  const refused = () =>
    new Problem('unavailable', {
      detail: 'Too many requests of this kind are running. Send the request again later.',
      headers: { 'Retry-After': '2' },
    })

  function begin(party: string, sharing: string): SharedSlot {
    const [ended, started] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()]
    const group = { name: `${++begun}`, came: 0, left: 0, started: started.promise, end: ended.resolve }
    groups.set(sharing, group)
    const held = take(() => {
      started.resolve(true)
      return ended.promise
    }, party)
    void held.then((taken) => {
      if (groups.get(sharing) === group) groups.delete(sharing)
      if (typeof taken !== 'object') started.resolve(false)
    })
    return group
  }

  async function runShared<T>(party: string, work: (group?: string) => Promise<T>, sharing: string): Promise<T> {
    // Groups in the queue must not make it longer.
    if (pending > bounds.waiting) throw refused()
    const current = groups.get(sharing)
    const group = current && current.came < maxShared() ? current : begin(party, sharing)
    group.came++
    group.left++
    try {
      if (!(await group.started)) throw refused()
      return await work(group.name)
    } finally {
      if (--group.left === 0) {
        if (groups.get(sharing) === group) groups.delete(sharing)
        group.end()
      }
    }
  }

  return {
    async run(party, work, sharing) {
      pending++
      try {
        if (sharing !== undefined) return await runShared(party, work, sharing)
        const taken = await take(() => work(), party)
        if (typeof taken === 'object') return taken.value
      } finally {
        pending--
      }
      throw refused()
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
 * An upload holds a slot as long as its client sends, and meanwhile memory and perhaps a file. One tenant can take an eighth of these slots.
 *
 * Contributions leave connections free for everything else: revocations, privacy requests and reads wait for none of them. While an
 * erasure runs or waits, contributions have fewer, so that under overload a contribution is rejected before an erasure is. Contributions of one
 * agent that share a transaction share a slot.
 */
const bounds = {
  erasures: { atOnce: 16, waiting: 400, share: 1 / 4 },
  registrations: { atOnce: 4, waiting: 400, share: 1 / 2 },
  uploads: { atOnce: 64, waiting: 400, share: 1 / 8 },
  contributions: { atOnce: 7, shared: 16, besideErasures: { atOnce: 2, shared: 4 }, waiting: 200 },
}

export function admissionPools({ patience }: { patience: number }): Readonly<Record<Pool, Admission>> {
  const erasures = admission({ ...bounds.erasures, patience })
  const { waiting, besideErasures, ...alone } = bounds.contributions
  const current = () => (erasures.pending > 0 ? besideErasures : alone)
  return {
    erasures,
    registrations: admission({ ...bounds.registrations, patience }),
    uploads: admission({ ...bounds.uploads, patience }),
    contributions: admission({
      atOnce: () => current().atOnce,
      maxShared: () => current().shared,
      waiting,
      patience,
    }),
  }
}
