/** The result of the work. `full`: the queue was full; `late`: it would have waited too long. In both cases the work did not start. */
export type LimitedResult<T> = { value: T } | 'full' | 'late'

export interface TurnBounds {
  /** How many run concurrently, at least one. A function is asked each time, for a limit that depends on other work. */
  atOnce: number | (() => number)
  /** How many wait for a slot. */
  waiting: number
  /** The part of the slots, and of the queue, that one party may take, so that it cannot exclude others; default 1. At least one slot. */
  share?: number
  /** How long work waits before it is `late`, in milliseconds; by default without a limit. */
  patience?: number
}

/**
 * Limits concurrency: at most `atOnce` run, and at most `waiting` wait. Each piece of work belongs to a party, for example a tenant.
 * Parties with waiting work take turns; the work of one party starts in order of arrival.
 */
export function limitConcurrency({ atOnce, waiting: max, share = 1, patience }: TurnBounds) {
  const maxAtOnce = typeof atOnce === 'function' ? atOnce : () => atOnce
  const maxWaiting = Math.max(1, Math.floor(max * share))
  let running = 0
  let waiting = 0
  const runningOf = new Map<string, number>()
  /** In the order in which the parties get their next slot. */
  const queues = new Map<string, Set<() => void>>()

  const start = (party: string): void => {
    running++
    runningOf.set(party, (runningOf.get(party) ?? 0) + 1)
  }
  const mayStart = (party: string): boolean => {
    const max = maxAtOnce()
    return running < max && (runningOf.get(party) ?? 0) < Math.max(1, Math.floor(max * share))
  }

  /** Removes a waiter. Returns whether it was still waiting. */
  function leave(party: string, waiter: () => void): boolean {
    const queue = queues.get(party)
    if (!queue?.delete(waiter)) return false
    waiting--
    if (queue.size === 0) queues.delete(party)
    return true
  }

  /** Starts the next waiter that may start. Returns whether there was one. */
  function startNext(): boolean {
    for (const [party, queue] of queues) {
      if (!mayStart(party)) continue
      const [waiter] = queue
      if (!waiter) continue
      leave(party, waiter)
      // The party's other work waits behind that of all other parties.
      if (queues.delete(party)) queues.set(party, queue)
      start(party)
      waiter()
      return true
    }
    return false
  }
  /** Fills the free slots with waiters, so that new arrivals cannot overtake them. */
  function fill(): void {
    while (startNext());
  }

  function end(party: string): void {
    running--
    const left = (runningOf.get(party) ?? 1) - 1
    if (left > 0) runningOf.set(party, left)
    else runningOf.delete(party)
    fill()
  }

  /** Waits for a slot, which is then taken. Returns why there is none. */
  function slot(party: string): Promise<'full' | 'late' | undefined> | 'full' {
    const queue = queues.get(party) ?? new Set()
    if (waiting >= max || queue.size >= maxWaiting) return 'full'
    queues.set(party, queue)
    waiting++
    return new Promise((done) => {
      let timer: NodeJS.Timeout | undefined
      const waiter = () => {
        clearTimeout(timer)
        done(undefined)
      }
      queue.add(waiter)
      if (patience !== undefined)
        timer = setTimeout(() => {
          if (leave(party, waiter)) done('late')
        }, patience)
    })
  }

  return async function take<T>(work: () => Promise<T>, party = ''): Promise<LimitedResult<T>> {
    // The limit may have grown since the last piece of work ended.
    fill()
    if (mayStart(party)) start(party)
    else {
      const refused = await slot(party)
      if (refused !== undefined) return refused
    }
    try {
      return { value: await work() }
    } finally {
      end(party)
    }
  }
}
